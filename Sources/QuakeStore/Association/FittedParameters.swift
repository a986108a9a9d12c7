import Association
import PostgreSQL

/// Estimates how much the agencies' solutions of one earthquake differ (their scatter), from pairs of solutions. A solution is a
/// row or a past version of a row. For each pair, something other than closeness shows that both solutions describe one
/// earthquake.
public enum FittedParameters {
    /// Stores the parameters that all later associations use.
    ///
    /// - Parameter text: a parameters file; nil for the default parameters of Quakes.
    /// - Throws: `Failure` if a line cannot be read; `PostgresError`.
    public static func keep(_ text: String?, on connection: Connection) async throws {
        if let text { _ = try Parameters(text: text) }
        try await connection.repeating(
            "update import.association set parameters = \(text)", to: "store the parameters")
    }

    /// Returns the current parameters as a parameters file, with a table of scatter that is fitted to the catalogue.
    public static func text(on connection: Connection) async throws -> String {
        try await connection.holdingCatalogue(to: "fit the scatter") {
            try await connection.execute(script: HistoryText.settings, to: "fit the scatter")
            let row = try await connection.query(
                "select parameters from import.association", to: "read the parameters"
            ).first
            let text = try row?.decodeIfPresent("parameters", as: String.self) ?? Parameters.shippedText
            let parameters = try Parameters(text: text)
            let links = try await links(on: connection)
            let table = ScatterFit(links, parameters).table(replacing: parameters.scatter)
            let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            let rest = lines.filter { !$0.drop(while: \.isWhitespace).hasPrefix("scatter") }
            return rest.joined(separator: "\n")
                + """

                # Fitted to \(links.count) pairs of solutions that are known to describe one earthquake. Rows with 0 pairs were not fitted.
                \(table)

                """
        }
    }

    private static func links(on connection: Connection) async throws -> [[Solution]] {
        try await connection.query(query, to: "read the known pairs of solutions").compactMap { row in
            var row = row
            let pair = [try Solution.next(in: &row), try Solution.next(in: &row)].compactMap(\.self)
            return pair.count == 2 ? pair : nil
        }
    }

    /// Selects three kinds of pairs: two rows that a hard link joins; the last version of a superseded row, and the row that
    /// replaced it; and two consecutive versions of a row with different `auth`. The last kind counts because the row's agency
    /// has published both versions as one earthquake.
    private static let query: Query = """
        with pair (a, b) as (
            select to_jsonb(q.*), to_jsonb(p.*)
            from (select distinct least(m.code, m.partner) as a, greatest(m.code, m.partner) as b
                  from public.earthquake_member m where m.rule <> 'pair') as linked  -- two rows may be each other's partners
            join only public.quake q on q.code = linked.a
            join only public.quake p on p.code = linked.b
            union
            select c.before, to_jsonb(q.*)
            from history.change c
            join only public.quake q on q.code = substr(c.reason, length('superseded by ') + 1)
            where c.entity = 'quake' and c.operation = 'delete' and c.reason like 'superseded by %'
            union
            select was.version, lead(was.version, 1, to_jsonb(q.*)) over (partition by q.code order by was.token, was.ordinal)
            from (select distinct key from history.change
                  where entity = 'quake' and operation = 'update' and before -> 'extra' ? 'auth') as changed
            join only public.quake q on q.code = changed.key
            cross join lateral (
                select token, ordinal, to_jsonb(q.*) || later || before as version
                from history.of_key('quake', changed.key)
                where operation = 'update' and before -> 'extra' ? 'auth') as was
        )
        select \(unescaped: SolutionColumns.expressions(of: "a_row")), \(unescaped: SolutionColumns.expressions(of: "b_row"))
        from pair
        cross join lateral jsonb_to_record(pair.a) as a_row (\(unescaped: SolutionColumns.declarations))
        cross join lateral jsonb_to_record(pair.b) as b_row (\(unescaped: SolutionColumns.declarations))
        """
}
