import Feed
import PostgreSQL

/// The tables that record which rows describe one earthquake, as they were at one moment. The three table expressions are for use
/// in a FROM clause.
struct GroupTables {
    /// The WITH clause that the statement must begin with; empty for the present.
    let with: Query
    /// Whether the tables have only the rows of a few earthquakes.
    var isLimited = false
    /// Whether several rows may describe one earthquake. If false, each row is an earthquake by itself.
    let hasEarthquakes: Bool
    let quake: Query
    let member: Query
    let earthquake: Query
}

extension SelectedQuakes {
    /// - Parameter codes: the codes of the rows to read; nil for all rows. The rows of an earthquake are read together or not at all.
    func groupTables(of codes: [String]?) async throws -> GroupTables {
        guard isPast else {
            let found = try await connection.query(
                "select exists (select from only public.earthquake) as are_some", to: "look for earthquakes")
            return GroupTables(
                with: "", hasEarthquakes: try found[0].decode("are_some"), quake: "only public.quake",
                member: "only public.earthquake_member",
                earthquake: "only public.earthquake")
        }
        let codes = codes.map { "\($0)" as Query }
        let members = table("earthquake_member", "code, earthquake", "code text, earthquake text", of: codes)
        let earthquakes = table(
            "earthquake", "code, preferred, magnitude_from", "code text, preferred text, magnitude_from text")
        let named: Query = "where code in (select earthquake from past_member)"
        return GroupTables(
            with: """
                with past_quake as materialized (select * from \(table(of: codes)) as past),
                past_member as materialized (select * from \(members) as past),
                past_earthquake as materialized (
                    select * from \(earthquakes) as past \(codes == nil ? "" : named))

                """,
            isLimited: codes != nil, hasEarthquakes: true, quake: "past_quake", member: "past_member",
            earthquake: "past_earthquake")
    }

    /// Rows with the columns of a row of `quake` and of `EarthquakeGroup`. If the selection is merged, there is one row for each
    /// earthquake, made by the rule of `report.earthquake`: the preferred solution, with the magnitude that was chosen
    /// separately.
    ///
    /// - Parameter hasMembers: whether the columns `networks` and `members` are needed. To fill them, all rows of an earthquake
    ///   have to be read.
    func grouped(_ tables: GroupTables, hasMembers: Bool) -> Query {
        guard tables.hasEarthquakes else { return eachAlone(tables) }
        let isMerged = selection.isMerged
        let columns = Property.allCases.map { property in
            let name = property.column
            return switch property {
            case .magnitude where isMerged, .magnitudeType where isMerged:
                "case when g.code is null then q.\(name) else g.\(name) end as \(name)"
            case .title where isMerged: "\(Self.title) as \(name)"
            default: "q.\(name)"
            }
        }
        let listed = hasMembers ? self.listed(tables) : Self.nothing
        let rows: Query = """
            select \(unescaped: columns.joined(separator: ", ")), coalesce(e.code, q.code) as earthquake,
                  \(unescaped: isMerged ? "q.code" : "coalesce(e.preferred, q.code)") as preferred,
                  coalesce(g.code, case when q.magnitude is not null then q.code end) as magnitude_from,
                  coalesce(g.net, case when q.magnitude is not null then q.net end) as magnitude_network\(listed)
            from \(tables.quake) as q
            left join \(tables.member) as m on m.code = q.code
            left join \(tables.earthquake) as e on e.code = m.earthquake
            left join \(tables.quake) as g on g.code = e.magnitude_from and g.magnitude is not null
            \(hasMembers && isPast ? membersJoin(tables) : Self.nothing)
            \(isMerged ? shown(tables) : Self.nothing)
            """
        // Nearly all rows of limited tables are selected, but the planner expects few. Because of its conditions or its limit, the
        // statement around the rows would turn their joins into nested loops.
        return tables.isLimited || isPast && !isMerged && selection.limit != nil
            ? "(with each as materialized (\(rows)) select * from each)"
            : "(\(rows))"
    }

    private static let nothing: Query = ""

    /// The title of the preferred solution, or a new one if it names another magnitude than that of the earthquake.
    private static let title = """
        case when q.title is null or coalesce(g.magnitude, q.magnitude) is not distinct from q.magnitude then q.title
             else 'M ' || to_char(round(g.magnitude::numeric, 1), 'FM990.0')
                  || coalesce(substring(q.title from '^M -?[0-9.]+( .*)'), ' - ' || q.place, '') end
        """

    /// Rows with the same columns for a catalogue in which each row is an earthquake by itself.
    private func eachAlone(_ tables: GroupTables) -> Query {
        """
        (select \(unescaped: Property.allCases.list("q.")), q.code as earthquake, q.code as preferred,
                case when q.magnitude is not null then q.code end as magnitude_from,
                case when q.magnitude is not null then q.net end as magnitude_network,
                array[q.net] as networks, array[q.code] as members
         from \(tables.quake) as q)
        """
    }

    /// The columns `networks` and `members`. They are looked up for each row that shares its earthquake with other rows. Past
    /// tables have no index, so there they are computed for all earthquakes at once.
    private func listed(_ tables: GroupTables) -> Query {
        if isPast {
            return """
                , coalesce(listed.networks, array[q.net]) as networks, coalesce(listed.members, array[q.code]) as members
                """
        }
        let members: Query = """
            from \(tables.member) as o join \(tables.quake) as oq on oq.code = o.code where o.earthquake = e.code
            """
        return """
            , case when e.code is null then array[q.net]
                   else (select array_agg(distinct oq.net collate "C") \(members)) end as networks,
            case when e.code is null then array[q.code] else (select array_agg(o.code order by o.code) \(members)) end as members
            """
    }

    private func membersJoin(_ tables: GroupTables) -> Query {
        """
        left join (
            select o.earthquake, array_agg(distinct oq.net collate "C") as networks, array_agg(o.code order by o.code) as members
            from \(tables.member) as o join \(tables.quake) as oq on oq.code = o.code
            group by o.earthquake) as listed on listed.earthquake = e.code
        """
    }

    /// Selects one row for each earthquake: the row to show. If a preferred solution was deleted, the remaining solution with the
    /// lowest code replaces it until the associator has processed the deletion.
    private func shown(_ tables: GroupTables) -> Query {
        let solutions: Query = "from \(tables.member) as o join \(tables.quake) as oq on oq.code = o.code"
        // For the present, each look-up uses an index. The tables of the past have none, so they are joined once. The planner
        // would also overestimate the cost of the look-ups so much that the cost of the other joins would hardly count.
        let first: Query =
            isPast ? "first.code" : "(select min(o.code) \(solutions) where o.earthquake = m.earthquake)"
        let join: Query =
            isPast
            ? """
            left join (select o.earthquake, min(o.code) as code \(solutions) group by o.earthquake) as first
              on first.earthquake = m.earthquake
            """ : ""
        return """
            left join \(tables.quake) as p on p.code = e.preferred
            \(join)
            where case when m.code is null or p.code = q.code then true
                       when p.code is not null then false
                       else q.code = \(first) end
            """
    }

    /// The codes of all rows of the earthquakes that the merged selection can include; nil for the present, or if they are many. The
    /// past tables have no index, so they should be small.
    func findSolutions() async throws -> [String]? {
        guard isPast else { return nil }
        // The row to show meets these conditions, and possibly not the others, which concern the earthquake's other rows, too.
        var rows = selection
        rows.isMerged = false
        rows.contributors = nil
        for property in [Property.magnitude, .magnitudeType, .title, .net] {
            (rows.ranges[property], rows.values[property]) = (nil, nil)
        }
        let few = try await few(
            "select code \(rows.source(table(of: selection.codes))) limit \(Self.few + 1)")
        return if let few { try await members(of: few) } else { nil }
    }

    /// The codes of the rows that the unmerged selection includes, with its limit and offset; nil if they are many.
    func page() async throws -> [String]? {
        var rows = selection
        rows.limit = min(rows.limit ?? .max, Self.few + 1)
        return try await few(rows.query("code", from: table(of: selection.codes)))
    }

    /// The codes that a query gives; nil if they are more than a few.
    private func few(_ query: Query) async throws -> [String]? {
        let codes = try await connection.query(query, to: "read earthquakes").map {
            try $0.decode("code", as: String.self)
        }
        return codes.count > Self.few ? nil : codes
    }

    /// Up to this number of rows, looking up the changes of each row takes less than a second.
    private static let few = 20_000

    /// The codes of these rows and of all other rows of their earthquakes.
    func members(of codes: [String]) async throws -> [String] {
        let tables = try await groupTables(of: nil)
        return try await connection.query(
            """
            \(tables.with)select coalesce(array_agg(distinct code), '{}') as codes
            from (select unnest(\(codes)) as code
                  union all
                  select other.code from \(tables.member) as named
                  join \(tables.member) as other on other.earthquake = named.earthquake
                  where named.code = any(\(codes))) as found
            """, to: "look for the solutions of an earthquake")[0].decode("codes")
    }

    /// Calls `body` with each row of the selected earthquakes, earthquake by earthquake. The first row of each earthquake is the
    /// row to show. The selection has to be merged. Two columns precede the columns of the properties: whether this is the row to
    /// show, and whether the earthquake's magnitude comes from this row.
    public func forEachSolution(
        of properties: [Property], _ body: @Sendable (inout Row) throws -> Void
    ) async throws {
        let tables = try await groupTables(of: solutions)
        let chosen = selection.query(
            "code, earthquake, magnitude_from", from: grouped(tables, hasMembers: selection.namesNetworks))
        try await connection.copy(
            rowsOf: """
                \(tables.with)select s.code = each.preferred, s.code is not distinct from each.magnitude_from,
                       \(unescaped: properties.list("s."))
                from (with picked as materialized (
                          select code as preferred, earthquake, magnitude_from, row_number() over () as place
                          from (\(chosen)) as chosen)
                      select preferred as code, picked.* from picked
                      union
                      select o.code, picked.* from picked join \(tables.member) as o on o.earthquake = picked.earthquake) as each
                join \(tables.quake) as s on s.code = each.code
                order by each.place, s.code <> each.preferred, s.code
                """, to: "read earthquakes", body)
    }
}
