import Feed
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

/// A property is a declaration and a migration: these tests tell which half is missing.
@Suite("One schema")
struct SchemaTests {
    let server = TestServer.shared

    @Test(
        "The table has the declared columns, of their kinds, required as declared, and described as declared")
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

    @Test("Migrating again gives a column back the comment that it lost")
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

    /// A value unlike that of any other property.
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
            // jsonb writes JSON in its own way.
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
