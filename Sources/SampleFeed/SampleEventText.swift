// Writes an event as the real feed does.

extension SampleEvent {
    func append(to text: inout SampleText, catalogue: SampleCatalogue) {
        text.append(#"{"type":"Feature","properties":{"mag":"#)
        text.append(magnitude, decimals: 2)
        text.append(#","place":""#)
        appendPlace(to: &text, catalogue)
        text.append(#"","time":"#)
        text.append(time)
        text.append(#","updated":"#)
        text.append(updated)
        text.append(#","tz":null,"url":"https://example.org/earthquakes/synthetic/not-real/eventpage/"#)
        appendIdentifier(to: &text)
        text.append(#"","detail":"https://example.org/earthquakes/synthetic/not-real/feed/v1.0/detail/"#)
        appendIdentifier(to: &text)
        text.append(#".geojson","felt":"#)
        text.append(felt, decimals: 0)
        text.append(#","cdi":"#)
        text.append(cdi, decimals: 1)
        text.append(#","mmi":"#)
        text.append(mmi, decimals: 3)
        text.append(#","alert":"#)
        text.append(quoted: alert)
        text.append(#","status":"#)
        text.append(reviewed ? #""reviewed","tsunami":"# : #""automatic","tsunami":"#)
        text.append(tsunami ? #"1,"sig":"# : #"0,"sig":"#)
        text.append(significance)
        text.append(#","net":"q"#)
        text.append(network)
        text.append(#"","code":""#)
        appendCode(of: network, to: &text)
        text.append(#"","ids":",q"#)
        appendAlternates(to: &text)
        text.append(#","types":","#)
        appendTypes(to: &text)
        text.append(#"","nst":"#)
        text.append(nst, decimals: 0)
        text.append(#","dmin":"#)
        text.append(dmin, decimals: 4)
        text.append(#","rms":"#)
        text.append(rms, decimals: 2)
        text.append(#","gap":"#)
        text.append(gap, decimals: 2)
        text.append(#","magType":"#)
        text.append(quoted: magnitudeType)
        text.append(#","type":"#)
        switch kind {
        case .earthquake: text.append(#""earthquake","title":"M "#)
        case .quarryBlast: text.append(#""quarry blast","title":"M "#)
        case .explosion: text.append(#""explosion","title":"M "#)
        case .iceQuake: text.append(#""ice quake","title":"M "#)
        }
        appendTitle(to: &text, catalogue)
        text.append(#""},"geometry":{"type":"Point","coordinates":["#)
        text.append(longitude, decimals: 4)
        text.append(",")
        text.append(latitude, decimals: 4)
        text.append(",")
        text.append(depth, decimals: 2)
        text.append(#"]},"id":""#)
        appendIdentifier(to: &text)
        text.append(#""}"#)
    }

    /// Roughly as ANSS computes it, from the magnitude and from how much was felt.
    /// https://earthquake.usgs.gov/data/comcat/index.php#sig
    private var significance: Int {
        let size = magnitude ?? 0
        return (size * size + 325) / 650 + min(felt ?? 0, 1_000) * (cdi ?? 0) / 100
    }

    private func appendPlace(to text: inout SampleText, _ catalogue: SampleCatalogue) {
        if place.distance > 0 {
            text.append(place.distance)
            text.append(index & 7 == 0 ? "km " : " km ")
            text.append(place.direction)
            text.append(" of ")
        }
        // One place in sixteen is escaped wherever JSON allows it.
        text.append(draw & 15 == 0 ? catalogue.escaped[place.town] : catalogue.raw[place.town])
    }

    /// Like real titles, with the magnitude to one decimal, or "?" if there is none.
    private func appendTitle(to text: inout SampleText, _ catalogue: SampleCatalogue) {
        if let magnitude {
            let tenths = (magnitude + 2_005) / 10 - 200
            if tenths < 0 { text.append("-") }
            text.append(abs(tenths) / 10)
            text.append(".")
            text.append(abs(tenths) % 10)
        } else {
            text.append("?")
        }
        switch kind {
        case .earthquake: text.append(" - ")
        case .quarryBlast: text.append(" Quarry Blast - ")
        case .explosion: text.append(" Explosion - ")
        case .iceQuake: text.append(" Ice Quake - ")
        }
        appendPlace(to: &text, catalogue)
    }

    private func appendIdentifier(to text: inout SampleText, of network: Int? = nil) {
        text.append("q")
        text.append(network ?? self.network)
        appendCode(of: network ?? self.network, to: &text)
    }

    /// A code in the form that such a network uses. Within a network, every index has its own code. Across networks,
    /// the same code occurs for different events, as in real feeds.
    private func appendCode(of network: Int, to text: inout SampleText) {
        let number = index + network
        switch network {
        case 0:  // 7000p3kz
            text.append(7_000 + number >> 20)
            text.append(number & 0xF_FFFF, radix: 32, width: 4)
        case 3, 5:  // 025cxvn1b: scattered over 36⁶; no two indices share one
            let (rounds, place) = number.divided(by: 2_176_782_336)
            text.append("025")
            text.append(place * 1_010_101_013 % 2_176_782_336, radix: 36, width: 6)
            if rounds > 0 { text.append(rounds, radix: 36, width: 4) }
        case 1:  // 00912345
            text.append((900_000 + number).divided(by: 100_000_000).rest, radix: 10, width: 8)
        case 6, 9:  // 2025aabc
            text.append(SampleDay(milliseconds: time).year)
            text.append(letters: number < 0 ? number.divided(by: 456_976).rest : number)
        case 8:  // 2025364018: the day of the year and a number within it; a day has at most 361 indices
            let day = SampleDay(milliseconds: time)
            text.append(day.year)
            text.append(day.ofYear, radix: 10, width: 3)
            text.append(number.divided(by: 1_000).rest, radix: 10, width: 3)
        default:  // 74000123
            text.append(74_000_000 + number)
        }
    }

    /// `ids` and `sources`. The other networks that located the event come before or after the preferred one.
    private func appendAlternates(to text: inout SampleText) {
        let first = (network + 1 + Int(draw >> 8 & 3)) % 10
        let second = (network + 5 + Int(draw >> 10 & 3)) % 10
        var networks = (network, first, second)
        if alternates > 0, draw >> 12 & 1 == 1 { networks = (first, network, second) }
        func each(_ body: (Int) -> Void) {
            body(networks.0)
            if alternates > 0 { body(networks.1) }
            if alternates > 1 { body(networks.2) }
        }
        text.bytes.removeLast()  // the "q" of the literal; appendIdentifier writes it
        each {
            appendIdentifier(to: &text, of: $0)
            text.append(",")
        }
        text.append(#"","sources":","#)
        each {
            text.append("q")
            text.append($0)
            text.append(",")
        }
        text.append("\"")
    }

    /// In alphabetical order, as the service lists them.
    private func appendTypes(to text: inout SampleText) {
        let size = magnitude ?? 0
        let mechanism = size >= 250 && draw >> 16 & 3 == 0
        let scitech = [1, 2, 4].contains(network)
        if felt != nil { text.append("dyfi,") }
        if size >= 700 { text.append("finite-fault,") }
        if mechanism || network == 2 && draw >> 18 & 3 == 0 { text.append("focal-mechanism,") }
        if draw >> 20 & 63 == 0 { text.append("general-link,") }
        if alert != nil { text.append("ground-failure,") }
        if size >= 650 { text.append("impact-text,") }
        if alert != nil { text.append("losspager,") }
        if size >= 400 && draw >> 26 & 1 == 0 || size >= 500 { text.append("moment-tensor,") }
        if scitech { text.append("nearby-cities,") }
        text.append("origin,")
        if nst != nil || draw >> 27 & 1 == 0 { text.append("phase-data,") }
        if scitech { text.append("scitech-link,") }
        if mmi != nil { text.append("shakemap,") }
    }
}
