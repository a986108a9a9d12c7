import Feed
import PostgreSQL
import QuakeStore
import QuakeView
import Synchronization
import TestSupport
import Testing

@Suite("Reading a view's file")
struct ViewFileTests {
    @Test("Every selection gives the same result as on the server, even when the database no longer exists")
    func selections() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            let expected = try await TestServer.shared.withDatabase { database in
                try await database.importSample(500)
                try await database.query(Self.edges)
                try await database.catchUp(SQLiteView(path))
                var expected: [[Quake]] = []
                for selection in Self.selections { try await expected.append(database.quakes(selection)) }
                return expected
            }

            for (selection, expected) in zip(Self.selections, expected) {
                let found = try ViewFile(path).quakes(selection)
                #expect(found == expected, "\(selection)")
            }

            let counts = expected.map(\.count)
            #expect(Set(counts).count > 15, "\(counts)")
        }
    }

    /// Events at the poles, at the antimeridian, at equal times, at fractions of a millisecond, and at the limits of the
    /// calendar.
    private static let edges = Query(
        stringLiteral: """
            insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
            select 'edge' || row_number() over (), 'e', '', magnitude, time::timestamptz, '2026-01-01+00', longitude, latitude
            from (values (1, 180, 0), (2, -180, 0), (3, 179.9, 0.1), (4, -179.9, -0.1), (5, 0, 90), (6, 90, 90),
                         (7, -135, 89.9), (8, 45, 89.9), (9, 0, -90), (null, -180, -89.95), (5.5, 359.5, 0.2))
                     as places (magnitude, longitude, latitude),
                 (values ('2025-06-01 12:00:00.0005+00'), ('2025-06-01 12:00:00.0015+00'), ('1906-04-18 13:12:21.9999+00'),
                         ('0001-01-01 00:00:00+00'), ('0001-05-15 12:00:00+00'), ('0300-01-01+00'),
                         ('0079-08-24+00'), ('9999-01-01+00'), ('9999-12-31 23:59:59.999999+00')) as times (time)
            """)

    private static let selections: [QuakeSelection] = {
        var all: [QuakeSelection] = []
        func add(_ configure: (inout QuakeSelection) -> Void) {
            var selection = QuakeSelection()
            configure(&selection)
            all.append(selection)
        }
        add { _ in }
        for since in [
            "2025-12-31T23:00Z", "2025-06-01T12:00:00.001Z", "1970-01-01", "0079-08-24", "0001-01-01",
        ] {
            add { $0.since = Instant(since) }
        }
        for magnitude in [-1, 0, 2.5, 5.5] as [Double] {
            add { $0.ranges[.magnitude] = magnitude...Double.infinity }
        }
        for (latitude, longitude) in [
            (0, 180), (0, -180), (0.05, 179.95), (90, 0), (90, 77), (-90, 0), (89.95, -90), (35, 139),
            (0, 360),
        ] {
            for kilometres in [15, 300, 20_016] as [Double] {
                add {
                    $0.near = .init(latitude: latitude, longitude: longitude, kilometres: kilometres)
                }
            }
        }
        for limit in [1, 7, 55, 2000] { add { $0.limit = limit } }
        add {
            $0.since = Instant("2025-12-28")
            $0.ranges[.magnitude] = 1...Double.infinity
            $0.near = .init(latitude: 0, longitude: 0, kilometres: 12_000)
            $0.limit = 40
        }
        return all
    }()

    @Test("Events at the same time are in the same order as on a server with any collation")
    func order() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            try await TestServer.shared.withDatabase(icuLocale: "und") { database in
                try await database.importFeatures(
                    ["a", "B", "_", "ä", "Z", "b"].map { SmallFeed.feature($0) })
                try await database.catchUp(SQLiteView(path))

                let codes = try ViewFile(path).quakes(QuakeSelection()).map(\.code)

                #expect(try await database.quakes(QuakeSelection()).map(\.code) == codes)
                #expect(codes == ["q0B", "q0Z", "q0_", "q0a", "q0b", "q0ä"])
            }
        }
    }

    @Test("Reading the file gives the position of its last pass")
    func position() async throws {
        try await withView { database, path in
            try await database.importSample(10)
            let reached = try await database.catchUp(SQLiteView(path))

            let position = try ViewFile(path).forEach(QuakeSelection()) { _ in }

            #expect(position == reached)
        }
    }
}

extension ViewFile {
    fileprivate func quakes(_ selection: QuakeSelection) throws -> [Quake] {
        var quakes: [Quake] = []
        _ = try forEach(selection) { quakes.append($0) }
        return quakes
    }
}

extension TestDatabase {
    fileprivate func quakes(_ selection: QuakeSelection) async throws -> [Quake] {
        try await withConnection { connection in
            let found = Mutex<[Quake]>([])
            try await selection.forEach(on: connection) { quake in found.withLock { $0.append(quake) } }
            return found.withLock { $0 }
        }
    }
}
