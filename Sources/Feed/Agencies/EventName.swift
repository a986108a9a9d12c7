/// The name of an event in the table: its code, the two parts of the code, and the URL.
struct EventName: Equatable {
    var code: String
    var net: String
    var netCode: String
    /// The URL of the event's page, or of the event at an event service; nil if neither is known.
    var url: String?

    /// Whether the event is withdrawn: its coordinates and its magnitude (`values`) are all zero, and its agency marks withdrawn
    /// events in this way.
    func isWithdrawn(by values: DecimalText?...) -> Bool {
        values.allSatisfy { $0?.isZero == true }
            && Agency.atHost(FeedIdentity.host(of: url))?.withdrawsByZeros == true
    }
}

struct StatedName {
    var id: String
    /// The fields that say who worked on the event: `Catalog`, `Contributor`, `Author`, `agencyID`. None of these fields says
    /// which agency gave the id, and each may be empty.
    var workers: [String] = []
    var time: Instant?
}

/// Finds the names of a document's events: which agency gave an id, and where that agency shows the event.
///
/// An id belongs to an agency only if the document says so. Contributors and authors only worked on an event: IRIS, for example,
/// lists events of `us` and of the `ISC` under numbers that IRIS gave. If such a number were taken for a code of `us`, the event
/// could overwrite an event of `us`, and would be deleted when `us` deletes the event with that code. The first of these rules
/// that applies determines the agency (docs/agencies.md explains the rules to users):
///
/// 1. The event service that the document comes from, if it is the service of a known agency.
/// 2. The authority of a public id (`smi:ch.ethz.sed/…`), unless it is SeisComP's default authority; or the host in the id, if
///    the id is the address of an event at a service (`smi:HOST/fdsnws/event/1/query?eventid=…`).
/// 3. The form of the id. The known forms are those of Quakes (`gfz:gfz2026texh`), EMSC, NRCan, GeoNet, ComCat and SeisComP. An
///    id of SeisComP begins with the agency (`knmi2026thbl`).
/// 4. The host of any other event service that the document comes from.
/// 5. Any other authority of a public id. The event then has no URL.
/// 6. Otherwise `unknown`, and no URL. The code then contains the day, because several agencies may use the same number.
struct EventNaming {
    let agency: Agency?
    /// The host of the event service that the document comes from; nil for any other document.
    let host: String?
    /// How many events have an id without a known owner, and the code of the first one.
    private(set) var unknown = (count: 0, first: "")

    init(host: String?) {
        (agency, self.host) = (.atHost(host), host)
    }

    mutating func name(_ stated: StatedName) -> EventName {
        let identifier = EventIdentifier(stated.id)
        let id = identifier.id
        if let agency = agency ?? Agency.owning(identifier) { return Self.name(id, agency, stated) }
        if let address = identifier.host { return Self.name(id, net: address, host: address) }
        if let name = nameByForm(identifier, stated) { return name }
        if let host { return Self.name(id, net: host, host: host) }
        let owner = identifier.owner
        if !owner.isEmpty, !Agency.isTaken(owner) {
            let length = Quake.codeLimit - owner.utf8.count - 1
            return Self.name(identifier.path.fitting(length), net: owner, host: nil)
        }
        return unknownName(identifier, stated)
    }

    private mutating func unknownName(_ identifier: EventIdentifier, _ stated: StatedName) -> EventName {
        var id = identifier.owner.isEmpty ? identifier.id : "\(identifier.owner)/\(identifier.path)"
        if !id.isEmpty, identifier.owner.isEmpty, Self.prefixOfSeisComP(id) == nil, let time = stated.time {
            id += "@\(time.description.prefix { $0 != "T" })"
        }
        let name = Self.name(id, net: "unknown", host: nil)
        if !id.isEmpty {
            if unknown.count == 0 { unknown.first = name.code }
            unknown.count += 1
        }
        return name
    }

    var note: String? {
        guard unknown.count > 0 else { return nil }
        let events =
            unknown.count == 1 ? "the id of 1 event" : "the ids of \(unknown.count) events"
        return
            "the document does not say which agency gave \(events); such events get codes that contain the day (\(unknown.first)), and no service deletes them; an import from the agency's own event service gives them the agency's codes"
    }

    // MARK: Names

    private static func name(_ id: String, _ agency: Agency, _ stated: StatedName) -> EventName {
        guard let network = agency.network else {
            return EventName(
                code: "\(agency.name):\(id)", net: agency.name, netCode: id, url: fill(agency.address, id))
        }
        if network.isEmpty { return nameOfComCat(id, network: self.network(of: id, stated)) }
        var name = nameOfComCat(id, network: network)
        name.url = fill("\(agency.service)query?eventid=", id)
        return name
    }

    private static func name(_ id: String, net: String, host: String?) -> EventName {
        EventName(
            code: "\(net):\(id)", net: net, netCode: id,
            url: host.map { fill("https://\($0)/fdsnws/event/1/query?eventid=", id) })
    }

    /// The name of an event of ComCat. In ComCat's text format, the id begins with the network; in the text format of the
    /// networks' services, it does not.
    static func nameOfComCat(_ id: String, network: String) -> EventName {
        let isQualified = id.hasPrefix(network) && id.count > network.count && !network.isEmpty
        let netCode = isQualified ? String(id.dropFirst(network.count)) : id
        let code = network + netCode
        return EventName(
            code: code, net: network, netCode: netCode,
            url: fill("https://earthquake.usgs.gov/earthquakes/eventpage/", code))
    }

    /// The name of an event of ComCat, with the URL at the service that the public id names: ComCat's service or the network's.
    static func nameOfComCat(_ id: String, network: String, publicID: String) -> EventName {
        var name = nameOfComCat(id, network: network)
        if Agency.owning(EventIdentifier(publicID))?.network != "",
            let agency = Agency.known.first(where: { $0.network == network })
        {
            name.url = fill("\(agency.service)query?eventid=", name.netCode)
        }
        return name
    }

    /// The network of a ComCat id. It is the first of these that exists: a network among the workers that is a prefix of the id;
    /// the longest known network that is a prefix; the first network among the workers; the letters at the beginning of the id.
    private static func network(of id: String, _ stated: StatedName) -> String {
        let named = stated.workers.map { $0.lowercased() }.filter(Agency.networksOfComCat.contains)
        return named.first(where: id.hasPrefix)
            ?? Agency.networksOfComCat.filter(id.hasPrefix).max { $0.count < $1.count }
            ?? named.first ?? String(id.prefix(while: \.isLetter))
    }

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

    // MARK: Forms of ids

    private func nameByForm(_ identifier: EventIdentifier, _ stated: StatedName) -> EventName? {
        let id = identifier.id
        if identifier.authority.isEmpty, let name = Self.ownName(id, host: host) { return name }
        if let agency = Self.agency(byFormOf: id) { return Self.name(id, agency, stated) }
        if let prefix = Self.prefixOfSeisComP(id) {
            if let agency = Agency.byPrefix[prefix] { return Self.name(id, agency, stated) }
            if !Agency.isTaken(prefix) { return Self.name(id, net: prefix, host: host) }
            if stated.workers.allSatisfy(\.isEmpty) { return nil }
        }
        return Self.isOfComCat(id, stated) ? Self.name(id, .usgs, stated) : nil
    }

    /// The name of an event whose id is a code from another Quakes server, such as `gfz:gfz2026texh`; nil for any other id.
    private static func ownName(_ id: String, host: String?) -> EventName? {
        guard let colon = id.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let (net, rest) = (String(id[..<colon]), String(id[id.utf8.index(after: colon)...]))
        let isName = net.utf8.allSatisfy {
            $0.isAlphanumeric && $0 == $0.asciiLowercased || "-.".utf8.contains($0)
        }
        guard isName, !net.isEmpty, !rest.isEmpty else { return nil }
        if let agency = Agency.named(net), agency.network == nil {
            return name(rest, agency, StatedName(id: rest))
        }
        if Agency.isTaken(net) { return nil }
        var name = name(rest, net: net, host: nil)
        // It is not known whose these events are.
        let isOwned = net != "unknown" && net != "local"
        if isOwned { name.url = host.map { fill("https://\($0)/fdsnws/event/1/query?eventid=", id) } }
        return name
    }

    private static func agency(byFormOf id: String) -> Agency? {
        guard id.utf8.first?.isDigit == true else { return nil }
        let bytes = Array(id.utf8)
        func isNumber(_ range: Range<Int>) -> Bool {
            range.upperBound <= bytes.count && bytes[range].allSatisfy(\.isDigit)
        }
        switch bytes.count {
        // 20260604_0000095
        case 16 where bytes[8] == UInt8(ascii: "_") && isNumber(0..<8) && isNumber(9..<16):
            return .named("emsc")
        // 20260929.1159001
        case 16 where bytes[8] == UInt8(ascii: ".") && isNumber(0..<8) && isNumber(9..<16):
            return .named("nrcan")
        // 2026p737458
        case 11 where bytes[4] == UInt8(ascii: "p") && isNumber(0..<4) && isNumber(5..<11):
            return .named("geonet")
        default: return nil
        }
    }

    /// The prefix of an id in the form of SeisComP, which is letters, a year, and letters again: `gfz` for `gfz2026texh`.
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

    /// Whether an id has the form of ComCat, a network followed by the network's code: `us7000abcd`, `nc73649170`,
    /// `official20110311054624120_30`. If the document says who worked on the event, the network has to be among these workers.
    private static func isOfComCat(_ id: String, _ stated: StatedName) -> Bool {
        let workers = stated.workers.filter { !$0.isEmpty }.map { $0.lowercased() }
        return Agency.networksOfComCat.contains { network in
            guard id.hasPrefix(network), workers.isEmpty || workers.contains(network) else { return false }
            var code = id.utf8.dropFirst(network.utf8.count)
            if let tail = code.lastIndex(of: UInt8(ascii: "_")), code[tail...].count > 1,
                code[tail...].dropFirst().allSatisfy(\.isDigit)
            {
                code = code[..<tail]
            }
            let isSmall = code.allSatisfy { $0.isDigit || ("a"..."z").contains(UnicodeScalar($0)) }
            // Only a code of the NEIC (`us`) may begin with a letter. A code of PTWC (`at00pubexo`) may have only two digits.
            return isSmall && code.count >= 5 && code.count(where: \.isDigit) >= (workers.isEmpty ? 3 : 2)
                && (network == "us" || code.first?.isDigit == true)
        }
    }
}

extension String {
    fileprivate func fitting(_ limit: Int) -> String {
        var rest = self[...]
        while rest.utf8.count > limit, let slash = rest.firstIndex(of: "/") {
            rest = rest[rest.index(after: slash)...]
        }
        return String(rest)
    }
}
