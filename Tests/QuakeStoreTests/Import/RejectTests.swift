import Feed
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Features that can't be imported")
struct RejectTests {
    let server = TestServer.shared

    @Test(
        "A broken feature among good ones is kept with its reason, offset and bytes, and the others are imported"
    )
    func oneBroken() async throws {
        try await server.withDatabase { database in
            let broken = SmallFeed.feature("b", magnitude: "\"strong\"")
            let document = SmallFeed.document([SmallFeed.feature("a"), broken, SmallFeed.feature("c")])

            let summary = try await database.importDocument(document)

            #expect(summary.outcome == .done)
            #expect(summary.figures == [2, 0, 0, 0, 1])
            let reject = try await database.query("select * from import.reject")[0]
            #expect(try reject.decode("reason") == "type")
            #expect(try reject.decode("message") == "mag: expected a number, found a string")
            #expect(try reject.decode("ordinal") == 2)
            let offset = document.utf8.distance(
                from: document.startIndex, to: document.range(of: broken)!.lowerBound)
            #expect(try reject.decode("byte_offset") == offset)
            #expect(try reject.decode("raw") == Array(broken.utf8))
            #expect(try reject.decode("run") == summary.run)
        }
    }

    @Test("Identical broken bytes are kept once and counted")
    func keptOnce() async throws {
        try await server.withDatabase { database in
            let broken = SmallFeed.feature("b", magnitude: "true")
            let document = SmallFeed.document([broken, SmallFeed.feature("a"), broken])
            try await database.importDocument(document)

            try await database.importDocument(document)

            let rejects = try await database.query("select count, run from import.reject")
            #expect(rejects.count == 1)
            #expect(try rejects[0].decode("count") == 4)
            #expect(try rejects[0].decode("run") == 2)
        }
    }

    @Test("A large reject is cut to 64 KiB and marked as cut")
    func largeReject() async throws {
        try await server.withDatabase { database in
            let large = SmallFeed.feature("b", place: String(repeating: "x", count: 2_000_000))
            let document = SmallFeed.document([SmallFeed.feature("a"), large])

            let summary = try await database.importDocument(document)

            #expect(summary.figures == [1, 0, 0, 0, 1])
            let reject = try await database.query(
                "select reason, cut, size, octet_length(raw) as kept from import.reject")[0]
            #expect(try reject.decode("reason") == "size")
            #expect(try reject.decode("cut", as: Bool.self))
            #expect(try reject.decode("size") == large.utf8.count)
            #expect(try reject.decode("kept") == 65_536)
        }
    }

    @Test("A feature with a very long id is rejected alone")
    func longID() async throws {
        try await server.withDatabase { database in
            let long = SmallFeed.feature(String(repeating: "x", count: 5000))
            let document = SmallFeed.document([SmallFeed.feature("a"), long])

            let summary = try await database.importDocument(document)

            #expect(summary.outcome == .done)
            #expect(summary.figures == [1, 0, 0, 0, 1])
            let reject = try await database.query("select message, raw from import.reject")[0]
            #expect(try reject.decode("message") == "id is longer than 64 bytes")
            #expect(try reject.decode("raw") == Array(long.utf8))
        }
    }

    @Test(
        "A value that only the server refuses is found in its batch and rejected alone",
        arguments: ["22000", "P0001", "23502", "23503", "23505", "23514"])
    func refusedByTheServer(sqlState: String) async throws {
        try await server.withDatabase { database in
            switch sqlState {
            case "23502":
                try await database.execute(
                    """
                    alter table quake add column allowed integer not null
                        generated always as (nullif((place = 'fine')::integer, 0)) stored
                    """)
            case "23503":
                try await database.execute(
                    """
                    create table allowed (place text primary key); insert into allowed values ('fine');
                    alter table quake add foreign key (place) references allowed
                    """)
            default: try await database.refusing("new.place = 'forbidden'", sqlState: sqlState)
            }
            let features = (0..<50).map { index in
                SmallFeed.feature("c\(index)", place: [7, 31].contains(index) ? "forbidden" : "fine")
            }

            let summary = try await database.importFeatures(features)

            #expect(summary.figures == [48, 0, 0, 0, 2])
            let rejects = try await database.query(
                "select ordinal, reason, message from import.reject order by ordinal")
            #expect(try rejects.map { try $0.decode("ordinal") } == [8, 32])
            #expect(try rejects[0].decode("reason") == "refused")
            #expect(try rejects[0].decode("message", as: String.self).contains(sqlState))
        }
    }

    @Test(
        "A violation in another table that a trigger writes to fails the run, and nothing is rejected",
        arguments: ["23502", "23505", "23514"])
    func violationElsewhere(sqlState: String) async throws {
        let rule = try #require(
            ["23502": "not null", "23505": "unique", "23514": "check (number > 1)"][sqlState])
        try await server.withDatabase { database in
            try await database.execute(
                """
                create table seen (place text, number int \(rule));
                create function note_place() returns trigger language plpgsql as
                $$ begin insert into public.seen values (new.place, \(sqlState == "23502" ? "null" : "1")); return new; end $$;
                create trigger note_place before insert on quake for each row execute function note_place()
                """)
            let summary = try await database.importDocument(
                SmallFeed.document(["a", "b"].map { SmallFeed.feature($0) }))
            #expect((summary.failure as? PostgresError)?.sqlState == sqlState)
            #expect(try await database.count("quake") == 0)
            #expect(try await database.count("import.reject") == 0)
        }
    }

    @Test("Too many rejects fail the run, and the good features stay")
    func tooMany() async throws {
        try await server.withDatabase { database in
            let broken = (0..<11).map { SmallFeed.feature("b\($0)", magnitude: "\"x\"") }
            let document = SmallFeed.document(broken + [SmallFeed.feature("a")])

            let summary = try await database.importDocument(document)

            #expect(summary.outcome == .failed)
            let failure = try #require(summary.failure as? Failure)
            #expect(failure.kind == .badData)
            #expect(failure.description.hasPrefix("11 of 12 features were rejected"))
            #expect(try await database.count("quake") == 1)
            #expect(try await database.count("import.reject") == 11)
        }
    }

    @Test("A document whose features are all rejected fails even with a limit of 100 percent")
    func allRejected() async throws {
        try await server.withDatabase { database in
            var options = Importer.Options()
            options.rejectLimit = .percent(100)
            let document = SmallFeed.document([SmallFeed.feature("a", magnitude: "\"x\"")])

            let summary = try await database.importDocument(document, options)

            #expect(summary.outcome == .failed)
        }
    }

    @Test(
        "A limit allows a number or a percentage of rejects; the standard is ten or one percent",
        arguments: [
            (RejectLimit.standard, 10, 20, true), (.standard, 11, 20, false), (.standard, 100, 10_000, true),
            (.standard, 101, 10_000, false), (.count(0), 1, 9, false), (.count(1), 1, 9, true),
            (.percent(5), 5, 100, true), (.percent(5), 6, 100, false), (.count(5), 5, 5, false),
            (.count(0), 0, 0, true),
        ])
    func limits(limit: RejectLimit, rejected: Int, seen: Int, passes: Bool) {
        #expect(limit.allows(rejected: rejected, of: seen) == passes)
    }
}
