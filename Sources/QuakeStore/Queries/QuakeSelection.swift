import Feed
import PostgreSQL

/// Which earthquakes to read, and in which order.
///
/// A nil member does not narrow the selection. A condition on the magnitude leaves out events without one.
public struct QuakeSelection: Sendable {
    /// Only events with this origin time or later.
    public var since: Instant?
    /// Only events before this origin time.
    public var until: Instant?
    public var minimumMagnitude: Double?
    public var maximumMagnitude: Double?
    /// Only events of one of these types; the case of ASCII letters does not matter. As in the reports, an event without a
    /// type counts as an earthquake.
    public var types: [String]?
    public var place: PlaceText?
    public var near: Circle?
    public var box: Box?
    public var code: String?
    /// Only events whose numbers are within these limits. An event that lacks the number is left out.
    public var ranges: [Property: ClosedRange<Double>] = [:]
    /// Only events with one of these texts; in a list, any element counts. The case of ASCII letters matters for `code` only.
    public var values: [Property: [String]] = [:]
    /// Only events to which one of these networks contributed: the one whose event it is, or any of its `sources`. The case of
    /// ASCII letters does not matter.
    public var contributors: [String]?
    public var agency: Agency?
    /// Only events that were revised after this moment. A deletion counts as a revision.
    public var updatedAfter: Instant?
    public var deleted = Deleted.excluded
    public var order = Order.time
    /// The oldest, the smallest, or the farthest first.
    public var isReversed = false
    /// How many of the first events to skip.
    public var offset = 0
    /// nil for all.
    public var limit: Int?
    /// Reads the table as it was at this moment; nil for the present.
    public var asOf: PastMoment?

    public init() {}

    /// Which events come first. Ties are in the order of their codes.
    public enum Order: String, Sendable, CaseIterable {
        /// The newest first.
        case time
        /// The largest first; those without a magnitude last.
        case magnitude
        /// The nearest to the centre of `near` first, in whole metres. Without `near`, the newest first.
        case distance
    }

    /// Whether to select events that are no longer in the table. History keeps them, until it is pruned.
    public enum Deleted: String, Sendable, CaseIterable {
        case excluded, included, only
    }

    /// Hands over each earthquake as it arrives, in constant memory. The first ones come soon, however many there are.
    ///
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`; what `body` throws.
    public func forEach(on connection: Connection, _ body: @Sendable (Quake) throws -> Void) async throws {
        guard asOf == nil, deleted == .excluded else {
            try await read(on: connection) { try await $0.forEachQuake(body) }
            return
        }
        try await connection.holdingCatalogue(to: "list earthquakes") {
            try await connection.forEachRow(soonOf: query(from: "only public.quake"), to: "list earthquakes")
            {
                try body(Quake(&$0))
            }
        }
    }

    /// The selected rows, in their order.
    func query(_ columns: String = Property.allCases.list(), from table: Query) -> Query {
        "\(ordered(columns, table)) limit \(limit) offset \(offset)"
    }

    /// The first of them, at most `most`. The planner plans for that number, not for the limit.
    func shortQuery(_ columns: String, most: Int) -> Query {
        """
        select * from (\(ordered(columns, "only public.quake")) limit \(unescaped: "\(most)")) as few
        limit \(limit)
        """
    }

    private func ordered(_ columns: String, _ table: Query) -> Query {
        """
        select \(unescaped: columns)
        \(source(table))
        order by \(orderExpression), code collate "C"
        """
    }

    /// How many rows are selected; no more than `bound` are counted.
    func countQuery(from table: Query, upTo bound: Int?) -> Query {
        let least = [limit, bound].compactMap(\.self).min()
        return """
            select count(*) as count
            from (select \(source(table)) limit \(least) offset \(offset)) as selected
            """
    }

    /// The clauses FROM and WHERE.
    func source(_ table: Query) -> Query {
        let from: Query = "from \(table) as quake"
        let conditions = conditions
        return conditions.isEmpty ? from : "\(from) where \(conditions.joined(by: " and "))"
    }

    private var orderExpression: Query {
        switch (order, near, isReversed) {
        case (.time, _, false), (.distance, nil, false): "quake.time desc"
        case (.time, _, true), (.distance, nil, true): "quake.time"
        case (.magnitude, _, false): "magnitude desc nulls last"
        case (.magnitude, _, true): "magnitude nulls last"
        case (.distance, let near?, false): "round(\(near.distanceExpression) * 1000)"
        case (.distance, let near?, true): "round(\(near.distanceExpression) * 1000) desc"
        }
    }

    private var conditions: [Query] {
        var all: [Query] = []
        if let since { all.append("time >= \(since)") }
        if let until { all.append("time < \(until)") }
        if let minimumMagnitude { all.append("magnitude >= \(minimumMagnitude)") }
        if let maximumMagnitude { all.append("magnitude <= \(maximumMagnitude)") }
        if let code { all.append("code = \(code)") }
        if let types {
            // A type has no comma: the option that names them is a list with commas.
            let names = types.map(\.inLowerASCII).joined(separator: ",")
            all.append(
                """
                lower(coalesce(type, 'earthquake') collate "C") = any(string_to_array(\(names), ','))
                """)
        }
        if let place { all.append("place collate \"C\" ~ \(place.pattern)") }
        if let near { all.append(near.condition) }
        if let box { all.append(box.condition) }
        if let updatedAfter {
            all.append("updated >= \(Instant(milliseconds: updatedAfter.milliseconds + 1))")
        }
        if let contributors {
            all.append(
                "(\(Property.net.condition(contributors)) or \(Property.sources.condition(contributors)))")
        }
        if let agency {
            all.append(
                """
                (\(Property.net.condition(agency.networks)) or import.service_of(url) = \(agency.host))
                """)
        }
        for property in Property.allCases {
            if let range = ranges[property] { all.append(property.condition(range)) }
            if let texts = values[property] { all.append(property.condition(texts)) }
        }
        return all
    }
}

extension QuakeSelection {
    /// The properties by which it selects: the code, and all that have a condition.
    var properties: Set<Property> {
        var all: Set<Property> = [.code]
        if since != nil || until != nil { all.insert(.time) }
        if minimumMagnitude != nil || maximumMagnitude != nil { all.insert(.magnitude) }
        if types != nil { all.insert(.type) }
        if place != nil { all.insert(.place) }
        if near != nil || box != nil { all.formUnion([.latitude, .longitude]) }
        if contributors != nil { all.formUnion([.net, .sources]) }
        if agency != nil { all.formUnion([.net, .url]) }
        if updatedAfter != nil { all.insert(.updated) }
        return all.union(ranges.keys).union(values.keys)
    }
}

// The same rules, for rows that do not come from a database.
extension QuakeSelection {
    /// Whether the selection has an event. Order, limit, `deleted` and `asOf` are not looked at.
    public func contains(_ quake: Quake) -> Bool {
        if let since, quake.time < since { return false }
        if let until, quake.time >= until { return false }
        if let minimumMagnitude, quake.magnitude ?? -.infinity < minimumMagnitude { return false }
        if let maximumMagnitude, quake.magnitude ?? .infinity > maximumMagnitude { return false }
        if let code, ExactText(quake.code) != ExactText(code) { return false }
        if let types {
            let name = ExactText((quake[.type].text ?? "earthquake").inLowerASCII)
            guard types.contains(where: { ExactText($0.inLowerASCII) == name }) else { return false }
        }
        if let place, !place.isPart(of: quake[.place].text ?? "") { return false }
        if let near, !near.contains(quake) { return false }
        if let box, !box.contains(quake) { return false }
        if let contributors, !quake.has(.net, oneOf: contributors), !quake.has(.sources, oneOf: contributors)
        {
            return false
        }
        if let agency {
            let (net, host) = (quake[.net].text ?? "", FeedIdentity.host(of: quake[.url].text))
            guard agency.hasEvent(of: net.inLowerASCII, at: host) else { return false }
        }
        if let updatedAfter, quake.updated <= updatedAfter { return false }
        return ranges.allSatisfy { quake.has($0, within: $1) }
            && values.allSatisfy { quake.has($0, oneOf: $1) }
    }
}

extension String {
    /// In lower case as PostgreSQL's `lower` has it under the collation C, which leaves other letters than ASCII's alone.
    package var inLowerASCII: String { String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self) }
}

extension Quake {
    fileprivate func has(_ property: Property, within range: ClosedRange<Double>) -> Bool {
        let number = self[property].number ?? self[property].integer.map(Double.init)
        return number.map(range.contains) ?? false
    }

    /// Whether a text, or an element of a list, is one of these.
    fileprivate func has(_ property: Property, oneOf texts: [String]) -> Bool {
        if property == .code { return texts.contains { ExactText($0) == ExactText(code) } }
        let names = Set(texts.map { ExactText($0.inLowerASCII) })
        let own = self[property].list ?? self[property].text.map { [$0] } ?? []
        return own.contains { names.contains(ExactText($0.inLowerASCII)) }
    }
}
