import PostgreSQL

/// A report: a view in the schema `report`, or a function there that returns rows.
public struct Report: Sendable, Equatable {
    public let name: String
    /// The description of the report, from its SQL comment.
    public let summary: String
    /// For a function, its arguments. For a view, the arguments of the function with the same name, if there is one, and the
    /// view's columns: a value for a column selects only the rows with that value.
    public let parameters: [Parameter]
    public let columns: [Column]
    public let isFunction: Bool

    public struct Parameter: Sendable, Equatable {
        public let name: String
        /// The SQL type, such as `double precision`.
        public let type: String
        public let isRequired: Bool
        /// Whether the parameter is an argument of a function, and not a column.
        public let isArgument: Bool
    }

    public struct Column: Sendable, Equatable {
        public let name: String
        fileprivate let type: String

        public var kind: ColumnKind { type == "numeric" ? .number : ColumnKind(sqlType: type) }
        /// Whether the cells of the form `json` are JSON: for arrays, as PostgreSQL writes them in JSON, and for JSON itself.
        public var isJSON: Bool { isArray || ["json", "jsonb"].contains(type) }
        fileprivate var isArray: Bool { type.hasSuffix("[]") }
    }

    /// What the cells are written for.
    public enum Form: Sendable {
        case table, csv, json

        /// The form of times: for people `2019-07-06 03:19:53`, otherwise `2019-07-06T03:19:53.040Z`, always in UTC.
        fileprivate var time: String {
            self == .table ? "YYYY-MM-DD HH24:MI:SS" : #"YYYY-MM-DD"T"HH24:MI:SS.MS"Z""#
        }
    }

    /// All reports, sorted by name.
    public static func all(on connection: Connection) async throws -> [Report] {
        try await connection.query(catalogue, to: "list the reports").map { try Report($0) }
    }

    /// Whether the report has the argument `merge`, so that it can count each earthquake once, however many events describe it.
    public var isCount: Bool { parameters.contains { $0.name == "merge" && $0.isArgument } }

    /// Whether the report's rows are sorted by time.
    public var isChronicle: Bool { columns.first?.kind == .time }

    /// Calls `body` with each row as it arrives. The rows are sorted by the first column. If that is a time, rows with the same time
    /// are sorted by the last time column; rows of equal rank stay in the report's order. A row is the list of its cells in column
    /// order, nil for null. The first rows arrive soon if an index provides this order, as for `report.event`.
    ///
    /// - Parameters:
    ///   - arguments: values as SQL writes them, keyed by the names of `parameters`; times without a zone are UTC.
    ///   - limit: the greatest number of rows; nil means all.
    ///   - backwards: whether the last rows come first.
    /// - Throws: `PostgresError`; its `isRefusedValue` is true when an argument does not fit its parameter's type.
    public func forEachRow(
        _ arguments: [String: String], limit: Int?, backwards: Bool = false, for form: Form,
        on connection: Connection, _ body: @Sendable ([String?]) throws -> Void
    ) async throws {
        let query = query(arguments, limit, backwards, form)
        let names = columns.map(\.name)
        // The view is locked, not the table, because a login for reports may read only the view. The lock on the view also locks
        // the table that the view reads.
        try await connection.transaction(
            .repeatableReadOnly, holding: "report.event", to: "read report \(name)"
        ) {
            try await connection.execute(script: HistoryText.shapingScript, to: "set the form of values")
            try await connection.forEachRow(soonOf: query, to: "read report \(name)") { row in
                try body(names.map { _ in try row.nextText() })
            }
        }
    }

    private func query(
        _ arguments: [String: String], _ limit: Int?, _ backwards: Bool, _ form: Form
    ) -> Query {
        func given(_ isArgument: Bool, _ sign: String) -> [Query] {
            parameters.filter { $0.isArgument == isArgument && arguments[$0.name] != nil }.map { parameter in
                "\(Self.identifier(parameter.name)) \(unescaped: sign) \(arguments[parameter.name])::text::\(unescaped: parameter.type)"
            }
        }
        let (passed, wanted) = (given(true, "=>"), given(false, "="))
        let own = Self.identifier(name)
        let rows: Query =
            isFunction || !passed.isEmpty
            ? "report.\(own)(\(passed.joined(by: ", "))) as \(own)"
            : "report.\(own)"
        var source: Query = wanted.isEmpty ? rows : "\(rows) where \(wanted.joined(by: " and "))"
        var keys = [Self.identifier(columns[0].name)]
        if columns[0].name == "rank" {
            source = "(select *, row_number() over () as place_in_order from \(source)) as \(own)"
            keys.append("place_in_order")
        } else if isChronicle, let last = columns.last(where: { $0.kind == .time }), last != columns[0] {
            keys.append(Self.identifier(last.name))
        }
        let order = keys.map { "\(own).\($0) \(unescaped: backwards ? "desc" : "")" as Query }
        let cells: [Query] = columns.map { column in
            let name = Self.identifier(column.name)
            return if column.kind == .time {
                """
                case when isfinite(\(name)) and \(name) >= '0001-01-01' then to_char(\(name) at time zone 'UTC', \(unescaped: "'\(form.time)'"))
                     else \(name)::text end
                """
            } else {
                form == .json && column.isArray ? "to_json(\(name))::text" : "\(name)::text"
            }
        }
        return """
            select \(cells.joined(by: ", ")) from \(source)
            order by \(order.joined(by: ", ")) limit \(limit)
            """
    }

    private static func identifier(_ name: String) -> Query {
        "\"\(unescaped: name.replacing("\"", with: "\"\""))\""
    }

    /// Lists the reports. A domain counts as the type that it is based on. A type modifier of -1 gives the name of the type
    /// without a length (`bpchar`), while `character` would mean a length of 1.
    private static let catalogue: Query = """
        select report.name, report.is_function, coalesce(report.summary, '') as summary,
               array(select a.attname::text from pg_attribute a
                     where a.attrelid = report.shape and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
               array(select format_type(coalesce(nullif(t.typbasetype, 0), t.oid), -1)
                     from pg_attribute a join pg_type t on t.oid = a.atttypid
                     where a.attrelid = report.shape and a.attnum > 0 and not a.attisdropped order by a.attnum) as types,
               report.parameters, report.parameter_types, report.required
        from (select c.relname::text as name, false as is_function, obj_description(c.oid, 'pg_class') as summary,
                     c.oid as shape,
                     coalesce((select array_agg(n) from unnest(p.proargnames[:p.pronargs]) as n), '{}') as parameters,
                     coalesce((select array_agg(format_type(o, -1)) from unnest(p.proargtypes::oid[]) as o), '{}')
                         as parameter_types, 0 as required
              from pg_class c
              left join pg_proc p on p.pronamespace = c.relnamespace and p.proname = c.relname and p.proretset
              where c.relnamespace = 'report'::regnamespace and c.relkind in ('v', 'm')
              union all
              select p.proname::text, true, obj_description(p.oid, 'pg_proc'), t.typrelid,
                     array(select n from unnest(p.proargnames) as n),
                     array(select format_type(o, -1) from unnest(p.proargtypes::oid[]) as o), p.pronargs - p.pronargdefaults
              from pg_proc p join pg_type t on t.oid = p.prorettype
              where p.pronamespace = 'report'::regnamespace and p.proretset and t.typrelid <> 0) as report
        where exists (select from pg_attribute a where a.attrelid = report.shape and a.attnum > 0 and not a.attisdropped)
        order by name
        """

    private init(_ row: Row) throws {
        name = try row.decode("name")
        summary = try row.decode("summary")
        let isFunction: Bool = try row.decode("is_function")
        self.isFunction = isFunction
        let (names, types): ([String], [String]) = try (row.decode("columns"), row.decode("types"))
        columns = zip(names, types).map { Column(name: $0, type: $1) }
        let required: Int = try row.decode("required")
        let taken = zip(
            try row.decode("parameters", as: [String].self),
            try row.decode("parameter_types", as: [String].self))
        let arguments = taken.enumerated().map { index, parameter in
            Parameter(
                name: parameter.0, type: parameter.1, isRequired: isFunction && index < required,
                isArgument: true)
        }
        parameters =
            isFunction
            ? arguments
            : arguments
                + columns.map {
                    Parameter(name: $0.name, type: $0.type, isRequired: false, isArgument: false)
                }
    }
}
