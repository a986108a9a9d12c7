import Association
import Feed
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Association through faults")
struct AssociationFaultTests {
    let server = TestServer.shared

    /// Writes a sequence of events while associators follow, waits until the groups are as new as the table, and checks them.
    private func follow(
        _ database: TestDatabase, steps: Int, associators: Int = 1, seed: UInt64,
        _ interfere: (Int, inout SplitMix64) async throws -> Void
    ) async throws {
        var sequence = ReportedSequence(seed: seed)
        var random = SplitMix64(seed: seed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<associators {
                let follower = Follower(
                    try database.options(), view: Associator(logger: .quiet), name: nil,
                    backoff: Backoff(from: .milliseconds(5), to: .milliseconds(50)), logger: .quiet)
                group.addTask { try await follower.run() }
            }
            for step in 0..<steps {
                let statements = sequence.step()
                if !statements.isEmpty { try await database.execute("begin; \(statements) commit") }
                try await interfere(step, &random)
            }
            try await waitUntil {
                try await database.query(
                    """
                    select not exists (
                        select from history.transaction t join history.change c on c.transaction = t.id
                        where c.entity in ('quake', 'association_override')
                          and t.token > coalesce((select split_part(position, '_', 1)::bigint from import.association), 0)) as is_done
                    """)[0].decode("is_done")
            }
            group.cancelAll()
            while let result = await group.nextResult() {
                if case .failure(let error) = result, !(error is CancellationError) { throw error }
            }
        }
        try await database.withConnection { connection in
            let table = AssociatedTable(connection: connection)
            let earthquakes = try await table.earthquakes()
            #expect(try await earthquakes == table.expected())
            #expect(earthquakes.count > 2)
            #expect(try await table.associate(rebuilds: true).written == 0)
        }
    }

    /// associator: begins a pass ── its session is killed before, during or after its commit ── reconnects ── repeats the pass
    /// writers:               commit ─────────────────────────────────── commit
    @Test(
        "An associator whose session is killed at random moments ends with the result of a rebuild",
        arguments: rounds(2, of: 20))
    func killed(_ number: Int) async throws {
        try await server.withDatabase { database in
            try await follow(database, steps: 60, seed: printedSeed() &+ UInt64(number)) { _, random in
                guard random.chance(1, in: 2) else { return }
                try await Task.sleep(for: .microseconds(random.below(20_000)))
                _ = try await database.otherSessions(ending: true)
            }
        }
    }

    @Test("Several associators that run at the same time end with the result of a rebuild")
    func severalAtOnce() async throws {
        try await server.withDatabase { database in
            try await follow(database, steps: 60, associators: 3, seed: printedSeed()) { _, _ in }
        }
    }

    @Test(
        "An ALTER, a pruning, a CLUSTER and another session's rebuild do not change the final groups")
    func altered() async throws {
        try await server.withDatabase { database in
            try await follow(database, steps: 40, seed: printedSeed()) { step, _ in
                switch step {
                case 10: try await database.execute("alter table quake add column mine text default 'x'")
                case 20: try await database.execute("select history.prune('0')")
                case 25: try await database.execute("cluster quake using quake_pkey")
                case 30:
                    try await database.withConnection {
                        _ = try await AssociatedTable(connection: $0).associate(rebuilds: true)
                    }
                default: break
                }
            }
        }
    }

    /// associator:                  asks for a lock on quake ── waits ───────── reads
    /// alter:      rewrites quake ──────────────────────────────────── commits
    @Test("A pass waits while the table is being rewritten, and never mistakes the table for empty")
    func rewriting() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1").statement)
            let groups = try await database.altering {
                try await database.withConnection { connection in
                    let table = AssociatedTable(connection: connection)
                    try await table.associate()
                    return try await table.groups()
                }
            }
            #expect(groups == [["us1", "gfz:1"]])
        }
    }

    @Test("A pass waits until another session has released the lock of the association")
    func waiting() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1").statement)
            try await database.withConnection { first in
                try await first.execute(
                    script: "begin; select from import.association for update", to: "hold")
                async let second = database.withConnection {
                    try await AssociatedTable(connection: $0).associate().written
                }
                try await waitUntil { try await database.blockedSessions() == 1 }
                try await first.execute(script: "commit", to: "let go")
                #expect(try await second == 3)
            }
        }
    }

    @Test("Association needs the writer's role and the reader's role, and no others")
    func roles() async throws {
        try await server.withRoles { roles in
            try await roles.database.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1").statement)
            let writer = roles.login(.writer)
            await #expect {
                try await writer.withConnection { _ = try await AssociatedTable(connection: $0).associate() }
            } throws: { ($0 as? PostgresError)?.sqlState == "42501" }
            try await roles.database.execute(
                "grant \(roles.roles.name(.reader)) to \(roles.loginName(.writer))")
            try await writer.withConnection { connection in
                let table = AssociatedTable(connection: connection)
                #expect(try await AssociationQueries.hasSeveralAgencies(on: connection))
                try await table.associate()
                try await table.execute(ReportedEvent("emsc:1").statement)
                try await table.associate()
                try await Overrides.say(.different("us1", "gfz:1"), because: nil, on: connection)
                try await table.associate()
                try await table.associate(rebuilds: true)
                #expect(try await table.groups().count == 1)
                _ = try await AssociationQueries.explain("us1", on: connection)
                _ = try await FittedParameters.text(on: connection)
            }
        }
    }
}
