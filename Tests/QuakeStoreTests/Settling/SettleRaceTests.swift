import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Settling while other documents are merged")
struct SettleRaceTests {
    let server = TestServer.shared

    /// newer document                      older document
    ///
    /// settles, wants to delete us1,
    /// and waits for a lock on its row
    ///                                     has a later revision of us1, and waits
    /// (the row's lock is released)
    /// deletes us1, and commits
    ///                                     may not bring us1 back
    @Test("An older document does not bring back an event that a newer one is about to delete")
    func revisedMeanwhile() async throws {
        try await server.withDatabase { database in
            let events = (2...8).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, [Event("us1")] + events))

            let summaries = try await database.withConnection { blocker in
                try await blocker.execute(
                    script: "begin; select from quake where code = 'us1' for update", to: "hold a row")
                async let newer = database.settle(Feed("all_day", at: 120, events))
                try await waitUntil { try await database.blockedSessions() == 1 }
                async let older = database.settle(
                    Feed("all_day", at: 100, [Event("us1", updated: 90)] + events))
                try await waitUntil { try await database.blockedSessions() == 2 }
                try await blocker.execute(script: "rollback", to: "let go")
                return try await (newer, older)
            }

            #expect(summaries.0.counts.retracted == 1)
            #expect(summaries.1.counts.stale == 1)
            #expect(try await database.codes() == Set(events.map(\.code)))
        }
    }

    /// older document, all events new      newer document
    ///
    /// looks for newer documents: none
    /// copies a part of a batch
    ///                                     lacks those events, and waits
    /// copies the rest, and commits
    ///                                     deletes the whole batch
    /// has another batch, which is stale
    @Test(
        "If an older document is copying a batch, a newer one waits for its commit, then deletes the rows that only the older has"
    )
    func copiedMeanwhile() async throws {
        try await server.withDatabase { database in
            try await database.stopping(at: "us150")
            let events = (100...199).map { Event("us\($0)") }
            var options = Importer.Options()
            options.batchSize = 40
            let older = Feed("query", at: 100, events, path: "query").json
            let newer = Feed("all_day", at: 120, Array(events[..<40]))

            let summaries = try await database.withConnection { [options] blocker in
                try await blocker.query("select pg_advisory_lock(9)", to: "hold 9")
                async let copying = database.importDocument(older, options)
                try await waitUntil { try await database.blockedSessions() == 1 }
                async let settling = database.settle(newer, retraction: .force)
                // Without the wait, the newer document would settle at once.
                try await waitUntil {
                    let settled = try await database.count("import.settled")
                    let blocked = try await database.blockedSessions()
                    return settled == 1 || blocked == 2
                }
                try await blocker.query("select pg_advisory_unlock(9)", to: "let go of 9")
                return try await (copying, settling)
            }

            #expect(summaries.0.figures == [80, 0, 0, 20, 0])
            #expect(summaries.1.counts.retracted == 40)
            #expect(try await database.codes() == Set(events[..<40].map(\.code)))
        }
    }

    @Test("A row is kept if it is revised while its deletion waits")
    func revisedByHand() async throws {
        try await server.withDatabase { database in
            let events = (2...8).map { Event("us\($0)") }
            try await database.settle(Feed("all_day", at: 60, [Event("us1")] + events))

            let summary = try await database.withConnection { other in
                try await other.execute(
                    script: "begin; update quake set updated = to_timestamp(119 * 60) where code = 'us1'",
                    to: "revise a row")
                async let settling = database.settle(Feed("all_day", at: 120, events))
                try await waitUntil { try await database.blockedSessions() == 1 }
                try await other.execute(script: "commit", to: "let go")
                return try await settling
            }

            #expect(summary.counts.retracted == 0)
            #expect(try await database.codes().contains("us1"))
        }
    }
}

extension TestDatabase {
    /// Makes an insert of this event wait until lock 9 is free.
    fileprivate func stopping(at code: String) async throws {
        try await withConnection { connection in
            try await connection.execute(
                script: """
                    create function stop() returns trigger language plpgsql as $$
                    begin
                        perform pg_advisory_xact_lock_shared(9);
                        return new;
                    end $$;
                    create trigger stop before insert on quake for each row
                    when (new.code = '\(code)') execute function stop();
                    """, to: "prepare the test")
        }
    }
}
