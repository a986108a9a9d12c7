import Feed
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

/// A property needs a declaration and a migration. These tests tell which of the two is missing.
@Suite("The schema in Swift and in SQL")
struct SchemaTests {
    let server = TestServer.shared

    @Test(
        "The table's columns have the declared names, types, NOT NULL constraints and comments")
    func columns() async throws {
        try await server.withDatabase { database in
            let rows = try await database.query(
                """
                select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as required,
                       col_description(attrelid, attnum) as comment
                from pg_attribute
                where attrelid = 'public.quake'::regclass and attnum > 0 and not attisdropped
                  and attname <> 'imported_at'
                order by attname
                """)
            let columns = try rows.map { row in
                Column(
                    name: try row.decode("name"), type: try row.decode("type"),
                    isRequired: try row.decode("required"), comment: try row.decodeIfPresent("comment"))
            }
            #expect(columns == Property.allCases.map(Column.init).sorted { $0.name < $1.name })
        }
    }

    @Test("A URL has the same host in Swift and in SQL")
    func hosts() async throws {
        let urls = [
            "https://Earthquake.USGS.gov/a?b=//c", "http://example.org:8080/",
            "http://me:secret@example.org#a", "http://me@[::1]", "http://[2001:DB8::1]:8080/a",
            "http://[::1", "http://me@/a", "http://@example.org/", "http:///a", "http:example.org", "",
            "https://jo@uni.edu:pw@seis.uni.edu/a", "http://a@b:c@/", "http://a@b@[::1]:80", "http://a@:80",
        ]
        try await server.withDatabase { database in
            for url in urls {
                let row = try await database.query("select import.service_of(\(url)) as host")[0]
                #expect(try row.decodeIfPresent("host") == FeedIdentity.host(of: url), "\(url)")
            }
        }
    }

    @Test("No index depends on a collation that an upgrade of the system may change")
    func collations() async throws {
        try await server.withDatabase { database in
            let indexes = try await database.query(
                """
                select distinct indexrelid::regclass::text as name
                from pg_index join pg_class t on t.oid = indrelid cross join unnest(indcollation) as used (rule)
                where t.relnamespace in ('public'::regnamespace, 'import'::regnamespace, 'history'::regnamespace)
                  and used.rule not in (0, '"C"'::regcollation)
                """)
            #expect(try indexes.map { try $0.decode("name", as: String.self) } == [])
        }
    }

    @Test("Migrating again restores the comment of a column")
    func comments() async throws {
        try await server.withDatabase { database in
            try await database.query("comment on column quake.depth is 'deep'")
            try await database.withConnection { _ = try await Migrator($0).migrate() }
            let comment: String = try await database.query(
                """
                select col_description(attrelid, attnum) as comment from pg_attribute
                where attrelid = 'public.quake'::regclass and attname = 'depth'
                """)[0].decode("comment")
            #expect(comment == Property.depth.meaning)
        }
    }

    @Test("The decoder and the table accept the same numbers and times, up to each limit and not beyond")
    func limits() async throws {
        let bounded = Property.allCases.filter { $0.kind == .number || $0.kind == .time }
        #expect(bounded.count == 11)
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            for property in bounded {
                for (value, isTaken) in Self.edges(of: property) {
                    #expect(Self.isDecoded(value.json, as: property) == isTaken, "\(property) \(value.json)")
                    let refusal = try await database.refusal(of: value.sql, in: property.column)
                    #expect((refusal == nil) == isTaken, "\(property) \(value.sql)")
                    #expect(refusal?.sqlState ?? "23514" == "23514")
                    #expect(refusal?.message.contains("violates check constraint \"quake_") ?? true)
                }
                for value in property.kind == .time
                    ? ["infinity", "-infinity"] : ["NaN", "infinity", "-infinity"]
                {
                    let refusal = try await database.refusal(of: "'\(value)'", in: property.column)
                    #expect(refusal?.sqlState == "23514", "\(property) \(value)")
                }
            }
        }
    }

    @Test("The table refuses lists, objects and import times that readers do not expect")
    func shapes() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            for assignment in [
                "ids = '{a,null}'", "sources = '{{a,b},{c,d}}'", "types = '[0:1]={a,b}'", "ids = '{NULL}'",
                "imported_at = 'infinity'", "imported_at = '0044-03-15 BC'", "extra = '[1]'",
                "extra = 'null'", "extra = '{}'",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(assignment)") {
                    try await database.query("update quake set \(unescaped: assignment)")
                }
                #expect(error?.sqlState == "23514", "\(assignment)")
            }
            try await database.query("update quake set ids = '{}', sources = null, types = '{\"NULL\",\"\"}'")
            #expect(try await database.quakes().count == 1)
        }
    }

    @Test("Every check constraint of the table has a comment")
    func constraints() async throws {
        try await server.withDatabase { database in
            let silent = try await database.query(
                """
                select conname as name from pg_constraint
                where conrelid = 'public.quake'::regclass and contype = 'c'
                  and obj_description(oid, 'pg_constraint') is null
                """)
            #expect(try silent.map { try $0.decode("name", as: String.self) } == [])
        }
    }

    @Test("Every property keeps its value from a feed through the table and back")
    func roundTrip() async throws {
        try await server.withDatabase { database in
            let members = Property.allCases.compactMap { property in
                property.feedName.map { "\"\($0)\":\(Self.json(of: property))" }
            }
            let feature = """
                {"type":"Feature","id":"q01","properties":{\(members.joined(separator: ",")),"unknown":[1]},\
                "geometry":{"type":"Point","coordinates":[1.25,2.5,3.75]}}
                """
            try await database.importFeatures([feature])

            let stored = try await database.quakes()
            let quake = try #require(stored.first)
            for property in Property.allCases {
                #expect(quake[property] != .null, "\(property)")
            }
            #expect(quake == (try Self.decoded(feature)))
        }
    }

    /// Values at the limits of a property, in JSON and in SQL, and whether they are accepted.
    private static func edges(of property: Property) -> [(value: (json: String, sql: String), isTaken: Bool)]
    {
        if property.kind == .time {
            let (first, last) = (Instant.possible.lowerBound, Instant.possible.upperBound)
            func value(_ milliseconds: Int64) -> (String, String) {
                ("\(milliseconds)", "timestamptz 'epoch' + \(milliseconds) * interval '1 millisecond'")
            }
            return [
                (value(first.milliseconds), true), (value(last.milliseconds), true),
                (value(first.milliseconds - 1), false), (value(last.milliseconds + 1), false),
            ]
        }
        let limit = property.limit ?? .greatestFiniteMagnitude
        var edges = [(("\(limit)", "'\(limit)'"), true), (("\(-limit)", "'\(-limit)'"), true)]
        if property.limit != nil {
            edges += [limit.nextUp, -limit.nextUp].map { (("\($0)", "'\($0)'"), false) }
        }
        return edges
    }

    /// Whether the decoder accepts this value of a property.
    private static func isDecoded(_ json: String, as property: Property) -> Bool {
        var members = ["time": "1000", "updated": "1000", "net": "\"q0\"", "code": "\"a\""]
        var coordinates = ["10", "20", "30"]
        if let name = property.feedName {
            members[name] = json
        } else {
            coordinates[[.longitude, .latitude, .depth].firstIndex(of: property) ?? 0] = json
        }
        let properties = members.map { "\"\($0)\":\($1)" }.joined(separator: ",")
        let feature = """
            {"type":"Feature","id":"q0a","properties":{\(properties)},\
            "geometry":{"type":"Point","coordinates":[\(coordinates.joined(separator: ","))]}}
            """
        var decoder = FeatureDecoder()
        return Array(feature.utf8).withUnsafeBufferPointer { (try? decoder.decode($0)) != nil }
    }

    /// A value that is different for each property.
    private static func json(of property: Property) -> String {
        switch property.kind {
        case .text, .json: "\"\(property.column)\""
        case .list: "\",\(property.column),more,\""
        case .number, .integer: "\(property.rawValue)"
        case .flag: "1"
        case .time: "\(1_000_000_000_000 + property.rawValue)"
        }
    }

    private static func decoded(_ feature: String) throws -> Quake {
        var decoder = FeatureDecoder()
        return try Array(feature.utf8).withUnsafeBufferPointer { bytes in
            var quake = Quake(try decoder.decode(bytes), from: bytes)
            // jsonb formats JSON differently from the decoder.
            quake[.extra] = .json(#"{"unknown": [1]}"#)
            return quake
        }
    }

    fileprivate struct Column: Equatable {
        let name: String
        let type: String
        let isRequired: Bool
        let comment: String?
    }
}

extension SchemaTests.Column {
    fileprivate init(_ property: Property) {
        let type =
            switch property.kind {
            case .text: "text"
            case .number: "double precision"
            case .integer: "integer"
            case .flag: "boolean"
            case .time: "timestamp with time zone"
            case .list: "text[]"
            case .json: "jsonb"
            }
        self.init(
            name: property.column, type: type, isRequired: property.isRequired, comment: property.meaning)
    }
}

extension TestDatabase {
    /// The error when the table refuses a value, which is given as an SQL expression; nil when the table accepts it.
    fileprivate func refusal(of value: String, in column: String) async throws -> PostgresError? {
        do {
            try await query("update quake set \(unescaped: column) = \(unescaped: value)")
            return nil
        } catch let error as PostgresError {
            return error
        }
    }

    fileprivate func quakes() async throws -> [Quake] {
        try await withConnection { connection in
            let quakes = Mutex<[Quake]>([])
            try await QuakeSelection().forEach(on: connection) { quake in
                quakes.withLock { $0.append(quake) }
            }
            return quakes.withLock { $0 }
        }
    }
}
