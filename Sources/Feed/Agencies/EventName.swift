/// What an event is called in the table: its code, and the agency whose event it is.
struct EventName: Equatable {
    var code: String
    var net: String
    var netCode: String
    /// Where the event is found at the agency; nil if nobody knows the agency's host.
    var url: String?

    /// Whether these are the place and the magnitude of an event that its agency has withdrawn.
    func isWithdrawn(by values: DecimalText?...) -> Bool {
        values.allSatisfy { $0?.isZero == true }
            && Agency.atHost(FeedIdentity.host(of: url))?.withdrawsByZeros == true
    }
}

/// What a document says about who has an event, and under which id. Any of the names may be empty.
struct StatedName {
    /// `EventID`, or the public id.
    var id: String
    /// `Catalog`.
    var catalog = ""
    /// `Contributor`, or the `agencyID` of the event or its origin.
    var contributor = ""
    var contributorID = ""
    /// `Author`.
    var author = ""
}

/// Finds the names of a document's events.
///
/// The same event gets the same name from FDSN text and from QuakeML. docs/agencies.md has the rules for users:
///
/// 1. If the document comes from the event service of a known agency, it is that agency's.
/// 2. The authority of a public id (`smi:ch.ethz.sed/…`), unless it is the one that SeisComP writes for everybody.
/// 3. The form of the id: EMSC's, the ISC's, NRCan's, or SeisComP's, whose prefix is the agency (`knmi2026thbl`).
/// 4. A known agency in the names of catalogue, contributor and author, in this order; or a network of ComCat.
/// 5. Whatever else is named as contributor, catalogue or author; else the authority; else `unknown`.
struct EventNaming {
    /// The agency whose service the document comes from.
    let agency: Agency?
    /// Where the event service is from which the document comes; nil for any other document.
    let host: String?
    /// What has been found for the names of a catalogue, a contributor and an author: nearly all rows of a document have the same.
    private var found: [[String]: Agency?] = [:]

    init(agency: Agency? = nil, host: String? = nil) {
        (self.agency, self.host) = (agency, host)
    }

    mutating func name(_ stated: StatedName) -> EventName {
        let (authority, id) = Self.parts(ofPublicID: stated.id)
        if let agency { return name(id, agency, stated) }
        let known = Agency.known
        if !authority.isEmpty, !authority.hasPrefix(Self.everybodys),
            let agency = known.first(where: { $0.authorities.contains { authority.hasPrefix($0) } })
        {
            return name(id, agency, stated)
        }
        if let agency = Self.agency(byFormOf: id, stated) { return name(id, agency, stated) }
        let network = [stated.contributor, stated.author].first { !$0.isEmpty }?.lowercased() ?? ""
        var isOfComCat: Bool { Agency.networksOfComCat.contains(network) }
        if let prefix = Self.prefixOfSeisComP(id), !(prefix == network && isOfComCat) {
            if let agency = Agency.byPrefix[prefix] {
                return name(id, agency, stated)
            }
            return Self.name(id, net: prefix, host: host)
        }
        if let agency = knownAgency(stated) { return name(id, agency, stated) }
        if isOfComCat { return Self.nameOfComCat(id, network: network) }
        // `local` is what QuakeML calls nobody.
        let names = [
            stated.contributor, stated.catalog, stated.author,
            authority.prefixUpToSlash == "local" ? "" : authority.prefixUpToSlash,
        ]
        let net = names.lazy.map(\.asNetwork).first { !$0.isEmpty } ?? "unknown"
        return Self.name(id, net: net, host: host ?? Self.host(ofPublicID: stated.id))
    }

    /// A known agency by its name.
    private mutating func knownAgency(_ stated: StatedName) -> Agency? {
        let names = [stated.catalog, stated.contributor, stated.author]
        if let agency = found[names] { return agency }
        var agency: Agency?
        for text in names where agency == nil {
            let words = text.split { !$0.isLetter && !$0.isNumber }
            agency = Agency.known.first { $0.names.contains { words.contains($0[...]) } }
        }
        // Whoever names each event's author otherwise is not to fill the memory.
        if found.count >= 1000 { found = [:] }
        found[names] = agency
        return agency
    }

    private func name(_ id: String, _ agency: Agency, _ stated: StatedName) -> EventName {
        guard agency.isOfComCat else {
            return EventName(
                code: "\(agency.name):\(id)", net: agency.name, netCode: id,
                url: Self.fill(agency.address, id))
        }
        let network = agency.network.flatMap { $0.isEmpty ? nil : $0 }
        let named = [stated.contributor, stated.author].map { $0.lowercased() }
            .first { Agency.networksOfComCat.contains($0) }
        var name = Self.nameOfComCat(id, network: network ?? named ?? String(id.prefix { $0.isLetter }))
        if network != nil { name.url = Self.fill("\(agency.service)query?eventid=", id) }
        return name
    }

    // MARK: Names

    private static func name(_ id: String, net: String, host: String?) -> EventName {
        EventName(
            code: "\(net):\(id)", net: net, netCode: id,
            url: host.map { fill("https://\($0)/fdsnws/event/1/query?eventid=", id) })
    }

    /// ComCat's text has the network before the id, the text of the networks themselves has not.
    static func nameOfComCat(_ id: String, network: String) -> EventName {
        let isQualified = id.hasPrefix(network) && id.count > network.count && !network.isEmpty
        let netCode = isQualified ? String(id.dropFirst(network.count)) : id
        let code = network + netCode
        return EventName(
            code: code, net: network, netCode: netCode,
            url: fill("https://earthquake.usgs.gov/earthquakes/eventpage/", code))
    }

    /// The same, where a public id tells which service has the event: ComCat, or the network's own.
    static func nameOfComCat(_ id: String, network: String, publicID: String) -> EventName {
        var name = nameOfComCat(id, network: network)
        let (authority, _) = parts(ofPublicID: publicID)
        let isComCat = authority.hasPrefix("earthquake.usgs.gov") || authority.hasPrefix("comcat.cr.usgs.gov")
        if !isComCat, let agency = Agency.known.first(where: { $0.network == network }) {
            name.url = fill("\(agency.service)query?eventid=", name.netCode)
        }
        return name
    }

    /// Where an event is found at a host; nil if it is none.
    static func page(of name: EventName, atHost host: String) -> String? {
        guard host.contains(".") else { return nil }
        guard let agency = Agency.atHost(host) else {
            return fill("https://\(host)/fdsnws/event/1/query?eventid=", name.netCode)
        }
        let id = agency.network == "" ? name.code : name.netCode
        return fill(agency.address, id)
    }

    private static func fill(_ address: String, _ id: String) -> String {
        if id.utf8.allSatisfy({ $0.isAlphanumeric || "-._~:".utf8.contains($0) }) { return address + id }
        var escaped: [UInt8] = []
        escaped.append(escaped: id.utf8, by: "%", keeping: "-._~:")
        return address + String(decoding: escaped, as: UTF8.self)
    }

    // MARK: Public ids

    /// SeisComP's own: nearly every installation writes it.
    private static let everybodys = "org.gfz-potsdam.de"

    /// Takes `smi:ch.ethz.sed/sc25a/Event/2026tjhylr` apart into `ch.ethz.sed/sc25a/Event` and `2026tjhylr`. What is no
    /// public id has no authority.
    static func parts(ofPublicID text: String) -> (authority: String, id: String) {
        guard text.utf8.contains(UInt8(ascii: ":")),
            let scheme = ["smi:", "quakeml:"].first(where: { text.hasPrefix($0) })
        else { return ("", text) }
        let rest = text.dropFirst(scheme.count)
        for mark in ["eventid=", "evid="] {
            guard let range = rest.lowercased().range(ofASCII: mark) else { continue }
            // Lower case changes no ASCII letter's place, but a text beyond ASCII may get longer.
            guard rest.utf8.count == rest.lowercased().utf8.count else { continue }
            let start = rest.utf8.index(rest.startIndex, offsetBy: range.upperBound)
            let id = rest[start...].prefix { !"&;".contains($0) }
            if !id.isEmpty { return (String(rest.prefix { $0 != "?" }), String(id)) }
        }
        let parts = rest.split(separator: "/")
        // ObsPy names what it makes of other forms `smi:local/ndk/M010176A/event`.
        let isNamedBefore = parts.count > 2 && parts.last == "event"
        guard let last = isNamedBefore ? parts[parts.count - 2] : parts.last else { return ("", text) }
        return (String(rest[..<last.startIndex].drop(while: { $0 == "/" })), String(last))
    }

    /// The host of a public id that is the address of an event: `smi:HOST/fdsnws/event/1/query?eventid=ID`.
    private static func host(ofPublicID text: String) -> String? {
        guard
            let match = text.wholeMatch(
                of: #/(?:smi|quakeml):([A-Za-z0-9.-]+\.[A-Za-z]{2,})/fdsnws/event/1/query\?.*/#)
        else { return nil }
        return match.1.lowercased()
    }

    // MARK: Ids

    private static func agency(byFormOf id: String, _ stated: StatedName) -> Agency? {
        guard id.utf8.first?.isDigit == true else { return nil }
        let bytes = Array(id.utf8)
        func isNumber(_ range: Range<Int>) -> Bool {
            range.upperBound <= bytes.count && bytes[range].allSatisfy(\.isDigit)
        }
        // 20260604_0000095
        if bytes.count == 16, bytes[8] == UInt8(ascii: "_"), isNumber(0..<8), isNumber(9..<16) {
            return .named("emsc")
        }
        // 20260929.1159001
        if bytes.count == 16, bytes[8] == UInt8(ascii: "."), isNumber(0..<8), isNumber(9..<16) {
            return .named("nrcan")
        }
        // The ISC numbers its events, and repeats the number that the origin has there.
        if isNumber(0..<bytes.count), !stated.contributorID.isEmpty,
            stated.contributorID != id, stated.contributorID.utf8.allSatisfy(\.isDigit)
        {
            return .named("isc")
        }
        return nil
    }

    /// `gfz` of `gfz2026texh`: letters, a year, letters.
    static func prefixOfSeisComP(_ id: String) -> String? {
        let prefix = id.utf8.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        let year = id.utf8.dropFirst(prefix.count).prefix(4)
        let rest = id.utf8.dropFirst(prefix.count + 4)
        guard (2...12).contains(prefix.count), year.count == 4, year.allSatisfy(\.isDigit),
            (1900...2099).contains(year.reduce(0) { 10 * $0 + Int($1 - UInt8(ascii: "0")) }),
            (4...8).contains(rest.count),
            rest.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
        else { return nil }
        return String(decoding: prefix, as: UTF8.self)
    }
}

extension String {
    fileprivate var prefixUpToSlash: String { String(prefix { $0 != "/" }) }

    /// `Geoscience Australia` as `geoscience-australia`; empty if there is no letter of ASCII or digit in it.
    fileprivate var asNetwork: String {
        lowercased().utf8.split { !$0.isAlphanumeric }.map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: "-").prefix(24).description
    }

    /// The place of a text of ASCII, in UTF-8 bytes.
    fileprivate func range(ofASCII word: String) -> Range<Int>? {
        let (text, word) = (Array(utf8), Array(word.utf8))
        guard text.count >= word.count else { return nil }
        for start in 0...text.count - word.count where text[start..<start + word.count].elementsEqual(word) {
            return start..<start + word.count
        }
        return nil
    }
}
