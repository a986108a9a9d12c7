import Association
import Feed
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Grouping of the rows in the tables")
struct AssociatorTests {
    let server = TestServer.shared

    /// Each step is one transaction. Passes run after random steps.
    @Test(
        "After random changes, the tables equal those of a rebuild, now and as of every earlier pass",
        arguments: rounds(4, of: 200))
    func anyChanges(_ number: Int) async throws {
        try await server.withAssociatedTable { table in
            var sequence = ReportedSequence(seed: printedSeed() &+ UInt64(number))
            var random = SplitMix64(seed: UInt64(number))
            var moments: [(token: Int, earthquakes: [Earthquake])] = []
            for step in 1...80 {
                let statements = sequence.step()
                if !statements.isEmpty { try await table.execute("begin; \(statements) commit") }
                guard random.chance(1, in: 3) || step == 80 else { continue }
                let outcome = try await table.associate()
                #expect(outcome.rebuilt == (moments.isEmpty ? "first start" : nil))
                let expected = try await table.expected()
                #expect(try await table.earthquakes() == expected, "step \(step)")
                moments.append((try await table.token, expected))
            }
            #expect(moments.last.map { $0.earthquakes.count > 3 } == true, "there are earthquakes to compare")
            let rebuilt = try await table.associate(rebuilds: true)
            #expect(rebuilt.written == 0, "a rebuild changes nothing")
            for moment in moments {
                #expect(
                    try await table.earthquakes(asOf: moment.token) == moment.earthquakes,
                    "token \(moment.token)")
            }
        }
    }

    /// All runs end with the same rows. In each run, the rows arrive in a different order, with other versions and deleted rows
    /// in between.
    @Test(
        "Rows that arrive in any order give tables that are equal to the last bit",
        arguments: rounds(3, of: 200))
    func arrival(_ number: Int) async throws {
        try await server.withAssociatedTable { table in
            var sequence = ReportedSequence(seed: 7)
            for _ in 0..<60 { _ = sequence.step() }
            let rows = sequence.events.values.sorted { $0.code < $1.code }
            var random = SplitMix64(seed: printedSeed() &+ UInt64(number))
            for row in rows.shuffled(using: &random) {
                var other = row
                if random.chance(1, in: 3) {
                    other.seconds += Double(random.below(200))
                    try await table.execute(other.statement)
                }
                if random.chance(1, in: 5) {
                    other.code += "x"
                    try await table.execute(other.statement)
                    if random.chance(1, in: 2) { try await table.associate() }
                    try await table.execute("delete from quake where code = '\(other.code)'")
                }
                try await table.execute(row.statement)
                if random.chance(1, in: 4) { try await table.associate() }
            }
            try await table.associate()
            #expect(try await table.earthquakes() == table.expected())
            #expect(Set(rows.map(\.code)) == Set(try await table.solutions().map(\.code.text)))
        }
    }

    @Test("Codes that look the same, but have different bytes, are different events")
    func codesThatLookTheSame() async throws {
        try await server.withAssociatedTable { table in
            // é as one character, and as an e with an accent.
            let letters = ["\u{e9}", "e\u{301}"]
            var expected: Set<Set<ExactText>> = []
            for (number, letter) in letters.enumerated() {
                let first = ReportedEvent("us\(letter)", "us", seconds: 1000 * Double(number))
                var second = ReportedEvent("gfz:\(letter)", "gfz", seconds: first.seconds + 1)
                second.firstSeen = 1
                try await table.execute(first.statement + second.statement)
                expected.insert([ExactText(first.code), ExactText(second.code)])
            }
            #expect(try await table.associate().rebuilt != nil)
            #expect(try await table.groups() == expected)
            for change in [
                "update quake set time = time + interval '1 second' where net = 'gfz'",
                "delete from quake where net = 'us'",
            ] {
                try await table.execute(change)
                #expect(try await table.associate().rebuilt == nil)
                #expect(try await table.earthquakes() == table.expected())
            }
            let reasons = try await table.reasons(of: "earthquake").map { ExactText($0) }
            #expect(Set(reasons).isSuperset(of: letters.map { "delete us\($0): superseded by gfz:\($0)" }))
        }
    }

    @Test("A pass writes only what a change affects, and a pass without changes writes nothing")
    func onlyWhatChanged() async throws {
        try await server.withAssociatedTable { table in
            for number in 0..<20 {
                try await table.execute(
                    ReportedEvent("us\(number)", "us", seconds: 600 * Double(number)).statement)
                try await table.execute(
                    ReportedEvent("gfz:\(number)", seconds: 600 * Double(number) + 1).statement)
            }
            try await table.associate()
            #expect(try await table.groups().count == 20)
            #expect(try await table.associate().written == 0)
            try await table.execute("update quake set felt = 3")
            #expect(try await table.associate().written == 0, "association does not read this column")

            try await table.execute(ReportedEvent("gfz:7", seconds: 4202).statement)
            let outcome = try await table.associate()
            #expect(outcome.rebuilt == nil)
            // Both members are written, because the difference between them has changed. The earthquake itself is unchanged and
            // is not written.
            #expect(outcome.written == 2)
        }
    }

    @Test("Joins, splits, new preferred solutions and replaced codes are recorded with their reasons")
    func reasons() async throws {
        try await server.withAssociatedTable { table in
            try await table.associate()
            var (us, gfz, emsc) = (
                ReportedEvent("us1", "us"), ReportedEvent("gfz:1"), ReportedEvent("emsc:1")
            )
            (us.firstSeen, gfz.firstSeen, emsc.firstSeen) = (1, 2, 3)
            try await table.execute(us.statement + gfz.statement)
            try await table.associate()
            try await table.execute(emsc.statement)
            try await table.associate()
            // The rows are in California, where ci is authoritative and us is not.
            gfz.status = "reviewed"
            try await table.execute(gfz.statement)
            try await table.associate()
            try await table.execute("delete from quake where code = 'us1'")
            try await table.associate()
            emsc.seconds = 500
            try await table.execute(emsc.statement)
            try await table.associate()
            #expect(
                try await table.reasons(of: "earthquake") == [
                    "insert us1: reported", "update us1: joined", "update us1: preferred",
                    "delete us1: superseded by gfz:1", "insert gfz:1: split from us1", "delete gfz:1: split",
                ])
            #expect(try await table.earthquakes() == [])
            #expect(
                Set(try await table.reasons(of: "earthquake_member").suffix(2)) == [
                    "delete emsc:1: split", "delete gfz:1: split",
                ])
        }
    }

    @Test(
        "An invalid position or an altered table causes a rebuild of all groups"
    )
    func rebuilds() async throws {
        try await server.withAssociatedTable { table in
            var sequence = ReportedSequence(seed: 3)
            func change() async throws {
                for _ in 0..<10 {
                    let statements = sequence.step()
                    if !statements.isEmpty { try await table.execute("begin; \(statements) commit") }
                }
            }
            func expectRebuild(_ reason: String) async throws {
                let outcome = try await table.associate()
                #expect(outcome.rebuilt?.contains(reason) == true, "\(reason): \(outcome.rebuilt ?? "no")")
                #expect(try await table.earthquakes() == table.expected())
                #expect(try await table.associate().rebuilt == nil)
            }
            try await change()
            try await expectRebuild("first start")

            try await change()
            try await table.execute("select history.prune('0')")
            try await expectRebuild("was pruned")

            try await change()
            try await table.execute(
                "update import.association set position = regexp_replace(position, '_[0-9a-f]{8}_', '_00000000_')"
            )
            try await expectRebuild("different transaction")
            try await change()
            try await table.execute("update import.association set position = '1000' || position")
            try await expectRebuild("restored or has lost transactions")
            try await table.execute(
                "update import.association set position = regexp_replace(position, '[^_]+$', gen_random_uuid()::text)"
            )
            try await expectRebuild("not the one that was followed before")

            try await change()
            try await table.execute("alter table quake add column mine integer default 1")
            try await expectRebuild("altered")
        }
    }

    @Test("Too many changes to follow one by one cause a rebuild of all groups")
    func manyChanges() async throws {
        try await server.withAssociatedTable { table in
            try await table.associate()
            try await table.execute(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select agency.prefix || n, agency.net, '', 4,
                       timestamptz '2020-01-01+00' + n * interval '5 minutes' + agency.delay, now(), n % 180, n % 80
                from generate_series(1, 26000) as n,
                     (values ('us', 'us', interval '0'), ('gfz:', 'gfz', interval '1 second')) as agency (prefix, net, delay)
                """)
            let outcome = try await table.associate()
            #expect(outcome.rebuilt == "many rows have changed")
            #expect(outcome.written == 26_000 * 3)
            // The rows that the last pass wrote do not count as changes.
            try await table.execute("update quake set magnitude = 4.1 where code = 'gfz:1'")
            let next = try await table.associate()
            #expect(next.rebuilt == nil && next.written == 2)
        }
    }

    /// A rebuild reads the rows in batches, and writes the groups of each batch.
    @Test(
        "A rebuild splits a group whose rows are far apart in time, and records the reason",
        arguments: [false, true])
    func distantMembers(isDeleted: Bool) async throws {
        try await server.withAssociatedTable { table in
            let far = 10_000_000.0
            try await table.execute(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude)
                select 'us' || n, 'us', '', timestamptz '2020-01-01+00' + n * interval '30 minutes', now(), 0, 0
                from generate_series(1, 5500) as n;
                """ + ReportedEvent("gfz:a").statement + ReportedEvent("emsc:a", seconds: 1).statement
                    + ReportedEvent("gfz:z", seconds: far).statement
                    + ReportedEvent("ingv:z", seconds: far + 1).statement)
            try await Overrides.say(.same("gfz:a", "ingv:z"), because: "test", on: table.connection)
            try await table.associate()
            #expect(try await table.groups() == [["emsc:a", "gfz:a", "ingv:z"]])

            _ = try await Overrides.takeBack(["gfz:a", "ingv:z"], on: table.connection)
            if isDeleted { try await table.execute("delete from quake where code in ('emsc:a', 'gfz:a')") }
            try await table.associate(rebuilds: true)
            #expect(try await table.earthquakes() == table.expected())
            let groups: Set<Set<ExactText>> =
                isDeleted ? [["gfz:z", "ingv:z"]] : [["emsc:a", "gfz:a"], ["gfz:z", "ingv:z"]]
            #expect(try await table.groups() == groups)
            let reasons = try await table.reasons(of: "earthquake")
            if isDeleted { #expect(reasons.contains("delete emsc:a: superseded by gfz:z")) }
            #expect(try await table.associate(rebuilds: true).written == 0)
        }
    }

    @Test("A rebuild repairs the tables after any other program has changed them")
    func repairs() async throws {
        try await server.withAssociatedTable { table in
            var sequence = ReportedSequence(seed: 11)
            for _ in 0..<60 {
                let statements = sequence.step()
                if !statements.isEmpty { try await table.execute("begin; \(statements) commit") }
            }
            try await table.associate()
            let right = try await table.earthquakes()
            #expect(right.count > 3)
            for damage in [
                "delete from earthquake", "delete from earthquake_member",
                "delete from earthquake where code < (select percentile_disc(0.5) within group (order by code) from earthquake)",
                "delete from earthquake_member where md5(code) < '8'",
                "update earthquake set agencies = 9; update earthquake_member set cost = -1, partner = 'none'",
                "update earthquake_member set earthquake = (select min(code) from earthquake)",
                "update earthquake set code = code || 'x'; update earthquake_member set earthquake = earthquake || 'x'",
                "update earthquake_member set code = code || 'x'",
                """
                insert into earthquake values ('none', 'none', null, 1);
                insert into earthquake_member
                select 'none', 'none', 'none', 0, 0, null::float, 0, 'pair', false union all
                select code, 'other', 'none', 0, 0, null, 0, 'pair', false from quake
                where code not in (select code from earthquake_member)
                """,
            ] {
                try await table.execute(damage)
                try await table.associate(rebuilds: true)
                #expect(try await table.earthquakes() == right, "\(damage)")
            }
        }
    }

    @Test("New parameters are used until the shipped ones are restored")
    func parameters() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(
                ReportedEvent("us1", "us").statement + ReportedEvent("gfz:1", seconds: 6).statement)
            try await table.associate()
            #expect(try await table.groups() == [["us1", "gfz:1"]])

            let narrow = Parameters.shippedText.replacing("seconds       20", with: "seconds       3")
            try await FittedParameters.keep(narrow, on: table.connection)
            #expect(try await table.associate().rebuilt == "the parameters have changed")
            #expect(try await table.groups() == [])
            #expect(try await table.associate().rebuilt == nil)

            await #expect(throws: Failure.self) {
                try await FittedParameters.keep("seconds none", on: table.connection)
            }
            try await FittedParameters.keep(nil, on: table.connection)
            try await table.associate()
            #expect(try await table.groups() == [["us1", "gfz:1"]])
        }
    }

    @Test("Groups of a newer version are kept, unless a person wants all events to be grouped again")
    func newer() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(ReportedEvent("us1", "us").statement)
            try await table.associate()
            try await table.execute("update import.association set made_with = '999 0'")
            try await table.execute(ReportedEvent("gfz:1", seconds: 6).statement)
            await #expect(throws: Failure.self) { try await table.associate() }
            #expect(try await table.groups() == [])
            try await table.associate(rebuilds: true)
            #expect(try await table.groups() == [["us1", "gfz:1"]])

            try await table.execute(
                "insert into import.migration (number, name, checksum) values (999, 'x', 'x')")
            for rebuilds in [false, true] {
                await #expect(throws: MigrationError.ahead(999)) {
                    try await table.associate(rebuilds: rebuilds)
                }
            }
        }
    }

    // MARK: Bad input

    @Test(
        "Rows with missing or extreme values are grouped: no magnitude or depth, magnitude ±12, years 1 and 9999"
    )
    func extremes() async throws {
        try await server.withAssociatedTable { table in
            var rows = [
                ReportedEvent("us1", "us"), ReportedEvent("who:1"), ReportedEvent("gfz:1"),
                ReportedEvent("emsc:1"),
            ]
            rows[1].magnitude = nil
            rows[2].depth = nil
            rows[3].magnitude = 12
            for row in rows { try await table.execute(row.statement) }
            for (number, time) in ["0001-01-01+00", "9999-12-31 23:59:59.999+00"].enumerated() {
                try await table.execute(
                    """
                    insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude) values
                        ('us9\(number)', 'us', '', -12, '\(time)', now(), -360, 90),
                        ('gfz:9\(number)', 'gfz', '', 12, '\(time)', now(), 360, -90),
                        ('emsc:9\(number)', 'emsc', '', -12, '\(time)', now(), 0, 90)
                    """)
            }
            try await table.associate()
            // The row without a magnitude fits both magnitude 4 and magnitude 12, but those two magnitudes do not fit each other.
            #expect(
                try await table.groups() == [
                    ["us1", "gfz:1"], ["emsc:1", "who:1"], ["us90", "emsc:90"], ["us91", "emsc:91"],
                ])
            #expect(try await table.earthquakes() == table.expected())
            try await table.execute("update quake set updated = updated + interval '1 second', nst = 3")
            try await table.associate()
            #expect(try await table.earthquakes() == table.expected())
        }
    }

    @Test(
        "Two events find their partners among ten thousand events that another agency reports within a minute"
    )
    func swarm() async throws {
        try await server.withAssociatedTable { table in
            try await table.execute(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select 'us' || n, 'us', '', 3, timestamptz '2020-01-01+00' + n * interval '6 milliseconds', now(), -117, 36
                from generate_series(1, 10000) as n
                """)
            try await table.associate()
            #expect(try await table.groups() == [])
            var (first, second) = (ReportedEvent("gfz:1", seconds: 6), ReportedEvent("gfz:2", seconds: 54))
            (first.magnitude, second.magnitude) = (3, 3)
            try await table.execute(first.statement + second.statement)
            let outcome = try await table.associate()
            #expect(outcome.rebuilt == nil)
            #expect(try await table.groups() == [["us1000", "gfz:1"], ["us9000", "gfz:2"]])
            #expect(try await table.earthquakes() == table.expected())
        }
    }
}
