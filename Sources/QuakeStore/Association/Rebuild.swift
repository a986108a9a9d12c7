import Association
import Feed
import PostgreSQL

/// Groups all rows again in the open transaction, and writes the differences.
///
/// The rows are read in the order of their origin times. The groups of a component are written to temporary tables as soon as the
/// component is complete, so that only incomplete components take memory. Afterwards the server compares the temporary tables
/// with the stored groups.
struct Rebuild {
    private let association: Association
    private let connection: Connection
    private var stream: ComponentStream
    /// The groups of several rows that are not stored yet.
    private var earthquakes: [Earthquake] = []
    private var findings: Set<Finding> = []

    init(_ association: Association, _ connection: Connection) {
        (self.association, self.connection) = (association, connection)
        stream = ComponentStream(association)
    }

    private static let stretch = 5000

    mutating func run(_ outcome: inout Associator.Outcome) async throws {
        try await group()
        outcome.findings = Array(findings.union(stream.missing.map(Finding.missing)))
        outcome.written = try await writeDifference()
    }

    private mutating func group() async throws {
        try await connection.execute(script: Self.beginning, to: "associate all rows")
        try await connection.execute(
            """
            declare quakes no scroll cursor for
            select \(unescaped: SolutionColumns.expressions(of: "quake")) from only public.quake order by time
            """, to: "associate all rows")
        while true {
            let rows = try await connection.query(
                "fetch \(unescaped: "\(Self.stretch)") from quakes", to: "associate all rows")
            for var row in rows {
                guard let solution = try Solution.next(in: &row) else { throw RowError.other }
                take(stream.add(solution))
            }
            if rows.count < Self.stretch { take(stream.finish()) }
            try await flush()
            if rows.count < Self.stretch { break }
        }
        try await connection.execute(script: "close quakes", to: "associate all rows")
    }

    private mutating func take(_ components: [ComponentStream.Component]) {
        for component in components {
            let grouping = association.group(component.rows)
            findings.formUnion(grouping.findings)
            earthquakes += grouping.earthquakes.filter { $0.members.count > 1 }
        }
    }

    private mutating func flush() async throws {
        if earthquakes.isEmpty { return }
        let operation = "store the new groups"
        try await connection.execute(
            "insert into associated_earthquake select * from \(earthquakes.rows) as new", to: operation)
        let members = earthquakes.flatMap { earthquake in
            earthquake.members.map { (earthquake: earthquake.code, member: $0) }
        }
        try await connection.execute(
            "insert into associated_member select * from \(Member.rows(members)) as new", to: operation)
        earthquakes.removeAll()
    }

    /// Sequential scans are allowed, because all rows are read and all groups are compared: index look-ups for each row would
    /// take hours.
    private static let beginning = """
        set local enable_seqscan = on;
        create temporary table associated_earthquake (like public.earthquake) on commit drop;
        create temporary table associated_member (like public.earthquake_member) on commit drop;
        """

    /// Finds the groups to delete. The reason of each deletion tells what became of the group's rows. `Revision` gives the same
    /// reasons. Without the index, each group that is gone would scan all members.
    private static let removal = """
        create index on associated_member (code);
        analyze associated_earthquake, associated_member;
        create temporary table associated_removal on commit drop as
        select e.code, case when own.earthquake is not null then 'superseded by ' || own.earthquake
                            when exists (select from only public.quake q where q.code = e.code) then 'split'
                            else coalesce('superseded by ' || heir.code, 'withdrawn') end as reason
        from only public.earthquake e
        left join associated_earthquake a on a.code = e.code
        left join associated_member own on own.code = e.code
        left join lateral (
            select coalesce(n.earthquake, q.code) as code
            from public.earthquake_member m
            join only public.quake q on q.code = m.code
            left join associated_member n on n.code = m.code
            where m.earthquake = e.code
            group by 1 order by count(*) desc, 1 limit 1) as heir on a.code is null and own.code is null
        where a.code is null;
        """

    private func writeDifference() async throws -> Int {
        try await connection.execute(script: Self.removal, to: "compare the groups")
        // As in `Revision`, members are deleted before groups, so that the last reason in a code's history is the group's.
        var written = try await write(Self.departures)
        let reasons = try await connection.query(
            "select reason, array_agg(code) as codes from associated_removal group by reason order by reason",
            to: "compare the groups")
        for row in reasons {
            try await connection.setReason(try row.decode("reason"))
            written += try await connection.execute(
                "delete from only public.earthquake where code = any(\(try row.decode("codes", as: [String].self)))",
                to: "delete earthquakes")
        }
        return written + (try await write(Self.updates))
    }

    private typealias Change = (reason: ExactText, statement: Query)

    private func write(_ changes: [Change]) async throws -> Int {
        var written = 0
        for (reason, statement) in changes {
            try await connection.setReason(reason.text)
            written += try await connection.execute(statement, to: "write the groups")
        }
        return written
    }

    private static let departures: [Change] = [
        (
            "split",
            """
            delete from only public.earthquake_member m
            where not exists (select from associated_member n where n.code = m.code)
              and exists (select from only public.quake q where q.code = m.code)
            """
        ),
        (
            "withdrawn",
            """
            delete from only public.earthquake_member m
            where not exists (select from associated_member n where n.code = m.code)
              and not exists (select from only public.quake q where q.code = m.code)
            """
        ),
    ]

    private static let updates: [Change] = [
        (
            "revised",
            """
            update only public.earthquake e
            set preferred = a.preferred, magnitude_from = a.magnitude_from, agencies = a.agencies
            from associated_earthquake a
            where a.code = e.code
              and (a.preferred, a.magnitude_from, a.agencies) is distinct from (e.preferred, e.magnitude_from, e.agencies)
            """
        ),
        (
            "revised",
            """
            update only public.earthquake_member m
            set earthquake = n.earthquake, partner = n.partner, seconds = n.seconds, km = n.km, magnitudes = n.magnitudes,
                cost = n.cost, rule = n.rule, is_doubtful = n.is_doubtful
            from associated_member n
            where n.code = m.code
              and (n.earthquake, n.partner, n.seconds, n.km, n.magnitudes, n.cost, n.rule, n.is_doubtful)
                  is distinct from (m.earthquake, m.partner, m.seconds, m.km, m.magnitudes, m.cost, m.rule, m.is_doubtful)
            """
        ),
        (
            "reported",
            """
            insert into public.earthquake
            select * from associated_earthquake a
            where not exists (select from only public.earthquake e where e.code = a.code)
            """
        ),
        (
            "reported",
            """
            insert into public.earthquake_member
            select * from associated_member n
            where not exists (select from only public.earthquake_member m where m.code = n.code)
            """
        ),
    ]
}
