import Association
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Overrides by a person")
struct OverrideTests {
    let server = TestServer.shared

    private func say(_ override: Override, _ table: AssociatedTable) async throws -> [Finding] {
        try await Overrides.say(override, because: "test", on: table.connection)
        return try await table.associate().findings
    }

    @Test("`same` joins, `different` separates, `preferred` chooses, and each can be taken back")
    func verdicts() async throws {
        try await server.withAssociatedTable { table in
            var far = ReportedEvent("emsc:1", seconds: 30)
            far.firstSeen = 5
            try await table.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1", seconds: 1).statement
                    + far.statement)
            try await table.associate()
            #expect(try await table.groups() == [["us1", "gfz:1"]])

            #expect(try await say(.same("us1", "emsc:1"), table) == [])
            #expect(try await table.groups() == [["us1", "gfz:1", "emsc:1"]])
            #expect(
                try await table.earthquakes().flatMap(\.members).first { $0.code == "emsc:1" }?.rule == .same)

            #expect(try await say(.different("gfz:1", "us1"), table) == [])
            #expect(try await table.groups() == [["us1", "emsc:1"]])

            #expect(try await say(.preferred("emsc:1"), table) == [])
            #expect(try await table.earthquakes().map(\.preferred) == ["emsc:1"])

            for codes in [["emsc:1"], ["us1", "gfz:1"], ["emsc:1", "us1"]] {
                #expect(try await Overrides.takeBack(codes, on: table.connection))
                #expect(
                    try await !Overrides.takeBack(codes, on: table.connection), "no such override is left")
            }
            try await table.associate()
            #expect(try await table.groups() == [["us1", "gfz:1"]])
            #expect(try await table.earthquakes() == table.expected())
        }
    }

    @Test("An override holds for an event that was renamed, and a warning says that its event was deleted")
    func renamed() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1").statement)
            _ = try await say(.different("us1", "gfz:1"), table)
            try await table.execute(
                """
                begin; set local history.reason = 'superseded by ci1'; delete from quake where code = 'us1';
                \(ReportedEvent("ci1", "ci").statement); commit
                """)
            #expect(try await table.associate().findings == [])
            #expect(try await table.groups() == [])
            #expect(try await table.earthquakes() == table.expected())
            #expect(try await say(.same("ci1", "gfz:1"), table) == [])
            #expect(try await table.groups() == [["ci1", "gfz:1"]])
            #expect(try await table.text("select count(*) from association_override") == "1")
            try await table.execute("delete from quake where code = 'gfz:1'")
            #expect(try await table.associate().findings == [.missing("gfz:1")])
        }
    }

    @Test(
        "An override joins a renamed event although its row existed before, and the later of two overrides counts"
    )
    func renamedToKnown() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("ci1", "ci", seconds: 200).statement
                    + ReportedEvent("gfz:1", seconds: 100).statement)
            _ = try await say(.same("us1", "gfz:1"), table)
            try await table.execute(
                "begin; set local history.reason = 'superseded by ci1'; delete from quake where code = 'us1'; commit"
            )
            try await table.associate()
            #expect(try await table.groups() == [["ci1", "gfz:1"]])
            #expect(try await table.earthquakes() == table.expected())
            #expect(try await Overrides.takeBack(["ci1", "gfz:1"], on: table.connection))
        }
    }

    @Test("The last verdict about two events counts, in either order of their codes")
    func lastWord() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1").statement)
            _ = try await say(.different("us1", "gfz:1"), table)
            #expect(try await table.groups() == [])
            _ = try await say(.same("gfz:1", "us1"), table)
            #expect(try await table.groups() == [["us1", "gfz:1"]])
            #expect(try await table.text("select count(*) from association_override") == "1")
        }
    }

    @Test(
        "Overrides that contradict each other, or name missing or distant events, cause warnings, and are followed where possible"
    )
    func warnings() async throws {
        try await server.withAssociatedTable { table in
            var far = ReportedEvent("emsc:1")
            far.latitude = 45
            try await table.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1", seconds: 60).statement
                    + far.statement)
            try await table.associate()

            let apart = try await say(.same("us1", "emsc:1"), table)
            #expect(
                apart.map(\.description) == [
                    "emsc:1 and us1 are said to be the same earthquake, but are 1001 km and 0 s apart"
                ])
            #expect(try await table.groups() == [["us1", "emsc:1"]])

            _ = try await say(.same("us1", "gfz:1"), table)
            let contradiction = try await say(.different("emsc:1", "gfz:1"), table)
            #expect(contradiction.contains { if case .contradiction = $0 { true } else { false } })
            #expect(try await table.groups().count == 1)

            let missing = try await say(.same("us1", "gone:1"), table)
            #expect(missing.contains(.missing("gone:1")))
            // An override that was taken back names nothing.
            try await say(.preferred("gone:2"), table)
            #expect(try await Overrides.takeBack(["gone:2"], on: table.connection))
            #expect(try await table.associate().findings.allSatisfy { $0 != .missing("gone:2") })
            #expect(try await table.earthquakes() == table.expected())
            // A rebuild reports the same finding.
            #expect(try await table.associate(rebuilds: true).findings.contains(.missing("gone:1")))
            // The missing event may arrive later.
            try await table.execute(ReportedEvent("gone:1", seconds: 9000).statement)
            try await table.associate()
            #expect(try await table.groups().contains { $0.isSuperset(of: ["us1", "gone:1"]) })
        }
    }

    @Test("An override that is written in SQL counts like any other, and an invalid one is refused")
    func inSQL() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1").statement)
            try await table.associate()
            try await table.execute(
                "insert into association_override (b, a, verdict) values ('us1', 'gfz:1', 'different')")
            try await table.associate()
            #expect(try await table.groups() == [])
            for values in [
                "('us1', 'us1', 'same')", "('us1', null, 'same')", "('us1', 'gfz:1', 'preferred')",
                "('us2', 'gfz:1', 'maybe')",
            ] {
                await #expect {
                    try await table.execute(
                        "insert into association_override (a, b, verdict) values \(values)")
                } throws: { ($0 as? PostgresError)?.sqlState == "23514" }
            }
        }
    }
}
