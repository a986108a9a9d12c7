import Feed

// Writes an event as the real feed does.

extension SampleEvent {
    func text(_ catalogue: SampleCatalogue) -> SampleText {
        """
        {"type":"Feature","properties":{"mag":\(magnitude, decimals: 2),"place":"\(place(catalogue))","time":\(time),\
        "updated":\(updated),"tz":null,\
        "url":"https://example.org/earthquakes/synthetic/not-real/eventpage/\(identifier(of: network))",\
        "detail":"https://example.org/earthquakes/synthetic/not-real/feed/v1.0/detail/\(identifier(of: network)).geojson",\
        "felt":\(felt, decimals: 0),"cdi":\(cdi, decimals: 1),"mmi":\(mmi, decimals: 3),"alert":\(quoted: alert),\
        "status":\(quoted: reviewed ? "reviewed" : "automatic"),"tsunami":\(tsunami ? 1 : 0),"sig":\(significance),\
        "net":"q\(network)","code":"\(code(of: network))","ids":",\(identifiers)","sources":",\(sources)",\
        "types":",\(types)","nst":\(nst, decimals: 0),"dmin":\(dmin, decimals: 4),"rms":\(rms, decimals: 2),\
        "gap":\(gap, decimals: 2),"magType":\(quoted: magnitudeType),"type":\(quoted: kindNames.type),\
        "title":"M \(titleMagnitude)\(word: kindNames.title) - \(place(catalogue))"},\
        "geometry":{"type":"Point","coordinates":[\(longitude, decimals: 4),\(latitude, decimals: 4),\(depth, decimals: 2)]},\
        "id":"\(identifier(of: network))"}
        """
    }

    /// The significance, computed approximately as the ANSS does, from the magnitude and the felt reports:
    /// https://earthquake.usgs.gov/data/comcat/index.php#sig
    private var significance: Int {
        let size = magnitude ?? 0
        return (size * size + 325) / 650 + min(felt ?? 0, 1_000) * (cdi ?? 0) / 100
    }

    private func place(_ catalogue: SampleCatalogue) -> SampleText {
        // In one event of sixteen, slashes and characters beyond ASCII in the place are escaped.
        let town = draw & 15 == 0 ? catalogue.escaped[place.town] : catalogue.raw[place.town]
        guard place.distance > 0 else { return "\(bytes: town)" }
        return """
            \(place.distance)\(word: index & 7 == 0 ? "km " : " km ")\(word: place.direction) of \(bytes: town)
            """
    }

    /// The magnitude as in real titles, with one decimal, or "?" if it is unknown.
    private var titleMagnitude: SampleText {
        guard let magnitude else { return "?" }
        let tenths = (magnitude + 2_005) / 10 - 200
        return "\(word: tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }

    private var kindNames: (type: StaticString, title: StaticString) {
        switch kind {
        case .earthquake: ("earthquake", "")
        case .quarryBlast: ("quarry blast", " Quarry Blast")
        case .explosion: ("explosion", " Explosion")
        case .iceQuake: ("ice quake", " Ice Quake")
        }
    }

    private var date: CivilDate { CivilDate(Instant(milliseconds: Int64(time))) }

    private func identifier(of network: Int) -> SampleText { "q\(network)\(code(of: network))" }

    /// A code in the form that a real network uses. Within a network, every index has a different code. Different networks may
    /// use the same code for different events, as in real feeds.
    private func code(of network: Int) -> SampleText {
        let number = index + network
        switch network {
        case 0:  // 7000p3kz
            return "\(7_000 + number >> 20)\(number & 0xF_FFFF, radix: 32, width: 4)"
        case 3, 5:  // 025cxvn1b: scattered over 36⁶ numbers, unique for each index
            let (rounds, place) = number.divided(by: 2_176_782_336)
            let scattered: SampleText = "025\(place * 1_010_101_013 % 2_176_782_336, radix: 36, width: 6)"
            return rounds > 0 ? "\(scattered)\(rounds, radix: 36, width: 4)" : scattered
        case 1:  // 00912345
            return "\((900_000 + number).divided(by: 100_000_000).rest, width: 8)"
        case 6, 9:  // 2025aabc
            let place = number < 0 ? number.divided(by: 456_976).rest : number
            return "\(date.year)\(place, radix: 26, width: 4, from: 10)"
        case 8:  // 2025364018: the year, the day, and a number within the day, which has at most 361 events
            let date = date
            return "\(date.year)\(date.dayOfYear, width: 3)\(number.divided(by: 1_000).rest, width: 3)"
        default:  // 74000123
            return "\(74_000_000 + number)"
        }
    }

    /// The networks that located the event. The preferred one is the first or the second.
    private var networks: some Sequence<Int> {
        let first = (network + 1 + Int(draw >> 8 & 3)) % 10
        let second = (network + 5 + Int(draw >> 10 & 3)) % 10
        let isFirst = alternates == 0 || draw >> 12 & 1 == 0
        return (isFirst ? [network, first, second] : [first, network, second]).prefix(1 + alternates)
    }

    private var identifiers: SampleText {
        networks.reduce(into: "") { $0.appendInterpolation("\(identifier(of: $1)),") }
    }

    private var sources: SampleText { networks.reduce(into: "") { $0.appendInterpolation("q\($1),") } }

    /// The product types in alphabetical order, as the service lists them.
    private var types: SampleText {
        var text: SampleText = ""
        let size = magnitude ?? 0
        let mechanism = size >= 250 && draw >> 16 & 3 == 0
        let scitech = [1, 2, 4].contains(network)
        if felt != nil { text.appendLiteral("dyfi,") }
        if size >= 700 { text.appendLiteral("finite-fault,") }
        if mechanism || network == 2 && draw >> 18 & 3 == 0 { text.appendLiteral("focal-mechanism,") }
        if draw >> 20 & 63 == 0 { text.appendLiteral("general-link,") }
        if alert != nil { text.appendLiteral("ground-failure,") }
        if size >= 650 { text.appendLiteral("impact-text,") }
        if alert != nil { text.appendLiteral("losspager,") }
        if size >= 400 && draw >> 26 & 1 == 0 || size >= 500 { text.appendLiteral("moment-tensor,") }
        if scitech { text.appendLiteral("nearby-cities,") }
        text.appendLiteral("origin,")
        if nst != nil || draw >> 27 & 1 == 0 { text.appendLiteral("phase-data,") }
        if scitech { text.appendLiteral("scitech-link,") }
        if mmi != nil { text.appendLiteral("shakemap,") }
        return text
    }
}
