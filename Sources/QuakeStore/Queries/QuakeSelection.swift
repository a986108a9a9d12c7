import Feed
import PostgreSQL

/// Selects earthquakes, and determines the order in which they are read.
///
/// A nil member does not narrow the selection.
public struct QuakeSelection: Sendable {
    /// Only events with this origin time or later.
    public var since: Instant?
    /// Only events before this origin time.
    public var until: Instant?
    /// Only events of one of these types; the case of ASCII letters does not matter. As in the reports, an event without a
    /// type counts as an earthquake.
    public var types: [String]?
    public var place: PlaceText?
    public var near: Circle?
    public var box: Box?
    /// Only events with a value within the limits for each of these properties. An event that lacks a value is left out.
    public var ranges: [Property: ClosedRange<Double>] = [:]
    /// Only events that have one of these texts as the property's value. If the value is a list, any element counts. The case of
    /// ASCII letters matters for `code` only.
    public var values: [Property: [String]] = [:]
    /// Only events to which one of these networks contributed, as the event's own network or as one of its `sources`. The case of
    /// ASCII letters does not matter.
    public var contributors: [String]?
    public var agency: Agency?
    /// Whether the rows of one earthquake are merged into one: the preferred row, whose magnitude may come from another of the
    /// rows. A row that belongs to no group is an earthquake by itself. When merging, `values[.net]` and `contributors` select
    /// the earthquakes that one of these networks reports, even if another network's row is preferred. A code in `values[.code]`
    /// selects the earthquake to which the row with this code belongs. A database supports merging, but the SQLite file of
    /// `quakes follow` does not. Merging cannot be combined with `agency` or `deleted`.
    public var isMerged = false
    /// Only events that were revised after this moment. A deletion counts as a revision.
    public var updatedAfter: Instant?
    public var deleted = Deleted.excluded
    public var order = Order.time
    /// Whether the order is reversed: the oldest, smallest or farthest events come first.
    public var isReversed = false
    public var offset = 0
    public var limit: Int?
    /// Reads the table as it was at this moment; nil for the present.
    public var asOf: PastMoment?

    public init() {}

    /// The order of the events. Events that are equal in this order are in the order of their codes.
    public enum Order: String, Sendable, CaseIterable {
        case time
        /// The largest first; events without a magnitude last.
        case magnitude
        /// The nearest to the centre of `near` first. Distances are rounded to metres. Without `near`, the newest first.
        case distance
    }

    /// Whether to select events that are no longer in the table. The history contains them until it is pruned.
    public enum Deleted: String, Sendable, CaseIterable {
        case excluded, included, only
    }

    /// Calls `body` with each earthquake as it arrives. The first earthquakes arrive soon, even if many are selected.
    ///
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`; any error of `body`.
    public func forEach(on connection: Connection, _ body: @Sendable (Quake) throws -> Void) async throws {
        guard asOf == nil, deleted == .excluded, !isMerged else {
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

    /// Calls `body` with each row and the earthquake that it describes.
    public func forEachGrouped(
        on connection: Connection, _ body: @Sendable (Quake, EarthquakeGroup) throws -> Void
    ) async throws {
        try await read(on: connection) { try await $0.forEachGrouped(body) }
    }

    /// Whether the selection depends on the networks of all rows of an earthquake.
    var namesNetworks: Bool { isMerged && (values[.net] != nil || contributors != nil) }

    func query(_ columns: String = Property.allCases.list(), from table: Query) -> Query {
        "\(ordered(columns, table)) limit \(limit) offset \(offset)"
    }

    /// The query for the first `most` events, or fewer if the limit is lower. `most` is part of the statement's text, so that the
    /// planner plans for this number and not for the limit.
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

    /// The query that counts the selected events, at most `bound` of them.
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
        let conditions = conditions.map(\.sql)
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
}

extension QuakeSelection {
    /// A condition in SQL, and the same condition in Swift for rows that are not read from a database.
    private struct Condition {
        let properties: [Property]
        let sql: Query
        let holds: @Sendable (Quake) -> Bool
    }

    /// Tells whether the selection includes an event. Order, limit, `deleted` and `asOf` have no effect.
    public var filter: @Sendable (Quake) -> Bool {
        let conditions = conditions.map(\.holds)
        return { quake in conditions.allSatisfy { $0(quake) } }
    }

    /// The properties that decide whether an event is selected: the code, and all properties with a condition.
    var properties: Set<Property> { Set(conditions.flatMap(\.properties)).union([.code]) }

    private var conditions: [Condition] {
        var all: [Condition] = []
        func add(_ properties: Property..., sql: Query, _ holds: @escaping @Sendable (Quake) -> Bool) {
            all.append(Condition(properties: properties, sql: sql, holds: holds))
        }
        if let since { add(.time, sql: "time >= \(since)") { $0.time >= since } }
        if let until { add(.time, sql: "time < \(until)") { $0.time < until } }
        if let types {
            // The feeds of 2014 write `quarry_blast`.
            @Sendable func spelled(_ type: String) -> String {
                String(
                    String.UnicodeScalarView(type.inLowerASCII.unicodeScalars.map { $0 == "_" ? " " : $0 }))
            }
            let names = types.map(spelled)
            let exact = Set(names.map { ExactText($0) })
            add(
                .type,
                sql: "replace(lower(coalesce(type, 'earthquake') collate \"C\"), '_', ' ') = any(\(names))"
            ) { quake in
                exact.contains(ExactText(spelled(quake[.type].text ?? "earthquake")))
            }
        }
        if let place {
            add(.place, sql: "place collate \"C\" ~ \(place.pattern)") {
                place.isPart(of: $0[.place].text ?? "")
            }
        }
        if let near { add(.latitude, .longitude, sql: near.condition, near.contains) }
        if let box { add(.latitude, .longitude, sql: box.condition, box.contains) }
        if let updatedAfter {
            add(
                .updated, sql: "updated >= \(Instant(milliseconds: updatedAfter.milliseconds + 1))"
            ) { $0.updated > updatedAfter }
        }
        if let contributors {
            let (isNet, isSource) = (
                Property.net.isOne(of: contributors), Property.sources.isOne(of: contributors)
            )
            add(
                .net, .sources,
                sql: "(\(networkCondition(contributors)) or \(Property.sources.condition(contributors)))"
            ) { isNet($0) || isSource($0) }
        }
        if let agency {
            add(
                .net, .url,
                sql:
                    "(\(Property.net.condition(agency.networks)) or import.service_of(url) = \(agency.host))"
            ) {
                agency.hasEvent(
                    of: ($0[.net].text ?? "").inLowerASCII, at: FeedIdentity.host(of: $0[.url].text))
            }
        }
        for property in Property.allCases {
            if let range = ranges[property] {
                add(property, sql: property.condition(range)) { quake in
                    let number = quake[property].number ?? quake[property].integer.map(Double.init)
                    return number.map(range.contains) ?? false
                }
            }
            if let texts = values[property] {
                let sql = property == .net ? networkCondition(texts) : property.condition(texts)
                add(property, sql: sql, property.isOne(of: texts))
            }
        }
        return all
    }

    private func networkCondition(_ networks: [String]) -> Query {
        isMerged
            ? Property.condition(networks, onList: "networks") : Property.net.condition(networks)
    }
}

extension String {
    /// The text in lower case. Only ASCII letters change, as with PostgreSQL's `lower` and the collation C.
    package var inLowerASCII: String { String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self) }
}

extension Property {
    /// The same condition as `condition(texts)`, for rows that are not read from a database.
    fileprivate func isOne(of texts: [String]) -> @Sendable (Quake) -> Bool {
        @Sendable func name(_ text: String) -> ExactText {
            ExactText(self == .code ? text : text.inLowerASCII)
        }
        let names = Set(texts.map(name))
        return { quake in
            let own = quake[self].list ?? quake[self].text.map { [$0] } ?? []
            return own.contains { names.contains(name($0)) }
        }
    }
}
