import Feed
import Foundation
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Unchanged rows are not sent")
struct RowFingerprintTests {
    let server = TestServer.shared

    @Test("Worker and server compute the same fingerprint for every row of a feed")
    func sameNumbers() async throws {
        try await server.withDatabase { database in
            let document = SampleFeed(count: 3000).document
            try await database.importDocument(document)
            try await expectSameNumbers(document, in: database, count: 3000)
        }
    }

    @Test("Worker and server compute the same fingerprint for extreme values of every kind")
    func corners() async throws {
        let texts = [
            "", "a", "twelve bytes", "Ångström \u{1F30B}", "\\u00e5 \\n \\\\ \\\"",
            String(repeating: "x", count: 8000),
        ]
        let long = String(repeating: "é,", count: 900)
        let lists = ["null", "\"\"", "\",\"", "\",a,\"", "\"a,,b\"", "\",\(long)\""]
        let numbers = ["null", "0", "-0.0", "0.1", "-1e-300", "1.7976931348623157e308"]
        let integers = ["null", "0", "-1", "2147483647", "-2147483648"]
        let times = [-62_135_596_800_000, -1, 0, 946_684_800_000, 253_402_300_799_999]
        let features = (0..<60).map { index in
            SmallFeed.feature(
                "c\(index)", updated: times[index % times.count], place: texts[index % texts.count],
                magnitude: index % 3 == 0 ? "null" : "-1.5",
                more: """
                    "ids":\(lists[index % lists.count]),"types":\(lists[(index / 6) % lists.count]),\
                    "cdi":\(numbers[index % numbers.count]),"rms":\(numbers[(index / 6) % numbers.count]),\
                    "felt":\(integers[index % integers.count]),"sig":\(integers[(index / 5) % integers.count]),\
                    "tsunami":\(["null", "0", "1"][index % 3])
                    """)
        }
        let document = SmallFeed.document(features)
        try await server.withDatabase { database in
            let summary = try await database.importDocument(document)
            #expect(summary.figures == [60, 0, 0, 0, 0])
            try await expectSameNumbers(document, in: database, count: 60)
        }
    }

    @Test(
        "Worker and server compute the same fingerprint for every row of real feeds", .needsRealFeeds,
        arguments: RealFeeds.names)
    func realFeeds(name: String) async throws {
        let document = try String(contentsOfFile: RealFeeds.path(name), encoding: .utf8)
        try await server.withDatabase { database in
            let summary = try await database.importDocument(document)
            try await expectSameNumbers(document, in: database, count: summary.counts.inserted)
        }
    }

    private func expectSameNumbers(_ document: String, in database: TestDatabase, count: Int) async throws {
        let seed = RowFingerprint.seed()
        let rows = try await database.query(
            "select code, \(RowFingerprint.ofServer(seed)) as number from quake")
        var server: [String: Int64] = [:]
        for row in rows { server[try row.decode("code")] = try row.decode("number") }
        #expect(server.count == count)
        var scanner = FeatureScanner()
        var decoder = FeatureDecoder()
        _ = try Array(document.utf8).withUnsafeBufferPointer { bytes in
            try scanner.scan(bytes, from: 0) { feature in
                guard let record = try? decoder.decode(feature.bytes) else { return true }
                let code = record.withCode(in: feature.bytes) { String(decoding: $0, as: UTF8.self) }
                let number = try #require(RowFingerprint(of: record, from: feature.bytes, seed))
                #expect(server[code] == number.value, "\(code)")
                return true
            }
        }
    }

    // MARK: Rows that are sent

    @Test("An unchanged document creates no temporary table, even if it is long", arguments: [1, 3])
    func nothingSent(lanes: Int) async throws {
        try await server.withDatabase { database in
            let document = SmallFeed.document((0..<200).map { SmallFeed.feature("c\($0)") })
            var options = Importer.Options()
            options.batchSize = 20
            options.lanes = lanes
            options.retraction = .never
            try await database.importDocument(document, options)
            // A column that a user has added does not matter.
            try await database.query("alter table quake add column note text default 'a note'")
            try await database.refuseTables()

            let summary = try await database.importDocument(document, options)

            #expect(summary.outcome == .done)
            #expect(summary.figures == [0, 0, 200, 0, 0])
        }
    }

    @Test(
        "New, revised, older and broken features are found among many unchanged ones",
        arguments: [1, 3])
    func someSent(lanes: Int) async throws {
        try await server.withDatabase { database in
            // The titles make the features too large for the memory of a batch.
            let more = "\"title\":\"\(String(repeating: "title ", count: 500))\""
            func feature(_ index: Int, updated: Int = 1000, place: String = "somewhere") -> String {
                SmallFeed.feature("c\(index)", updated: updated, place: place, more: more)
            }
            try await database.importFeatures((0..<1000).map { feature($0) })
            try await database.query("update quake set felt = 7 where code = 'q0c950'")
            try await database.query("update quake set updated = now() where code = 'q0c960'")
            try await database.query("delete from quake where code = 'q0c970'")
            try await database.refusing("new.place = 'refused'", sqlState: "22000")
            var features = (0..<1000).map { feature($0) }
            features[980] = feature(980, updated: 2000, place: "elsewhere")
            features[985] = "{\"broken\":true}"
            features[990] = feature(990, updated: 2000, place: "refused")

            let summary = try await database.importFeatures(features, batchSize: 200, lanes: lanes)

            #expect(summary.figures == [1, 2, 994, 1, 2])
            let places = try await database.column("place")
            #expect(places["q0c970"] == "somewhere" && places["q0c980"] == "elsewhere")
            #expect(try await database.column("felt")["q0c950"] == .some(nil))
            let again = try await database.importFeatures(features, batchSize: 200, lanes: lanes)
            #expect(again.figures == [0, 0, 997, 1, 2])
        }
    }

    @Test("An edit by hand in any column is noticed and undone")
    func editedByHand() async throws {
        try await server.withDatabase { database in
            let more = #""cdi":1,"mmi":2,"dmin":3,"rms":4,"gap":5,"felt":3,"ids":",q0a,","new":{"x":1}"#
            let features = [SmallFeed.feature("a", updated: 1_000_000_000, more: more)]
            try await database.importFeatures(features)
            for (property, value) in Self.edits {
                try await database.query(
                    "update quake set \(unescaped: property.column) = \(unescaped: value)")

                let summary = try await database.importFeatures(features)

                let expected = property == .code ? [1, 0, 0, 0, 0] : [0, 1, 0, 0, 0]
                #expect(summary.figures == expected, "\(property.column) = \(value)")
                let again = try await database.importFeatures(features)
                #expect(again.figures == [0, 0, 1, 0, 0], "\(property.column) = \(value)")
            }
        }
    }

    /// The edited properties and their new values in SQL. The edit of the code is the last one, because the import after it leaves
    /// two rows in the table.
    private static var edits: [(property: Property, value: String)] {
        let all = Property.allCases.map { (property: $0, value: edit(of: $0)) }
        return all.filter { $0.property != .code } + slightEdits + all.filter { $0.property == .code }
    }

    private static let slightEdits: [(property: Property, value: String)] = [
        (.magnitude, "magnitude + 1e-15"), (.time, "time + interval '1 ms'"), (.place, "place || ' '"),
        (.title, "''"), (.felt, "null"), (.depth, "null"), (.tsunami, "false"), (.ids, "'{}'"),
        (.sources, "'{}'"), (.extra, "'{\"new\":{\"x\":2}}'"),
    ]

    private static func edit(of property: Property) -> String {
        switch property.kind {
        case .text: "'edited'"
        case .number: "\(property.column) + 0.5"
        case .integer: "coalesce(\(property.column), 0) + 1"
        case .flag: "not coalesce(\(property.column), false)"
        // Both edits leave the server's hash of the time unchanged, because the hash folds 64 bits into 32.
        case .time where property == .updated: "updated - interval '4294967295 microseconds'"
        case .time: "\(property.column) + interval '4294967297 microseconds'"
        case .list: "array['edited']"
        case .json: "'{\"edited\":1}'"
        }
    }

    @Test("Undeclared properties are compared, too")
    func extra() async throws {
        try await server.withDatabase { database in
            func features(_ value: Int) -> [String] {
                (0..<50).map { SmallFeed.feature("c\($0)", more: "\"unknown\":\($0 == 40 ? value : 1)") }
            }
            let first = try await database.importFeatures(features(1), batchSize: 10)
            let same = try await database.importFeatures(features(1), batchSize: 10)
            let revised = try await database.importFeatures(features(2), batchSize: 10)

            #expect(first.figures == [50, 0, 0, 0, 0])
            #expect(same.figures == [0, 0, 50, 0, 0])
            #expect(revised.figures == [0, 1, 49, 0, 0])
        }
    }

    @Test("On a server that computes other fingerprints, an import still has the right result")
    func otherNumbers() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                create function public.hash_record_extended(record, bigint) returns bigint language plpgsql
                as 'begin return pg_catalog.hash_record_extended($1, $2) # 1; end'
                """)
            let odd = database.with("-csearch_path=public,pg_catalog")
            let features = (0..<100).map { SmallFeed.feature("c\($0)") }
            try await odd.importFeatures(features, batchSize: 20)

            let same = try await odd.importFeatures(features, batchSize: 20)
            let revised = try await odd.importFeatures(
                features.dropLast() + [SmallFeed.feature("c99", updated: 2000)], batchSize: 20)

            #expect(same.figures == [0, 0, 100, 0, 0])
            #expect(revised.figures == [0, 1, 99, 0, 0])
        }
    }
}

extension TestDatabase {
    /// Makes the server refuse to create tables, including temporary tables.
    fileprivate func refuseTables() async throws {
        try await withConnection { connection in
            try await connection.execute(
                script: """
                    create function refuse_table() returns event_trigger language plpgsql as $$
                    begin
                        raise exception 'no table is needed';
                    end $$;
                    create event trigger refuse_table on ddl_command_start
                    when tag in ('CREATE TABLE', 'CREATE TABLE AS') execute function refuse_table();
                    """, to: "prepare the test")
        }
    }
}

extension SampleFeed {
    fileprivate var document: String {
        var bytes: [UInt8] = []
        write { bytes += $0 }
        return String(decoding: bytes, as: UTF8.self)
    }
}
