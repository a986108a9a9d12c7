import Association
import Feed
import PostgreSQL

/// Groups all rows again in the open transaction, and writes the differences.
///
/// The rows are read in the order of their origin times. Components are written as soon as they are complete, so that only
/// incomplete components take memory.
struct Rebuild {
    let association: Association
    let connection: Connection

    private static let operation = "associate all rows"
    private static let stretch = 5000

    func run(_ outcome: inout Associator.Outcome) async throws {
        try await declareCursor()
        var stream = ComponentStream(association)
        var findings: Set<Finding> = []
        var isLast = false
        while !isLast {
            let rows = try await connection.query(
                "fetch \(unescaped: "\(Self.stretch)") from quakes", to: Self.operation)
            isLast = rows.count < Self.stretch
            var components: [[Solution]] = []
            for var row in rows {
                guard let solution = try Solution.next(in: &row) else { throw RowError.other }
                components += stream.add(solution)
            }
            if isLast { components += stream.finish() }
            var grouping = Grouping()
            for component in components { grouping.append(association.group(component)) }
            findings.formUnion(grouping.findings)
            outcome.written += try await write(grouping, of: Set(components.joined().map(\.code)))
        }
        outcome.findings = Array(findings.union(stream.missing.map(Finding.missing)))
        outcome.written += try await removeRest()
    }

    /// The server plans the cursor here, with a scan of the whole table. All later queries use indexes.
    private func declareCursor() async throws {
        try await connection.execute(script: "set local enable_seqscan = on", to: Self.operation)
        try await connection.execute(
            """
            declare quakes no scroll cursor for
            select \(unescaped: SolutionColumns.expressions(of: "quake")) from only public.quake order by time
            """, to: Self.operation)
        try await connection.execute(script: "set local enable_seqscan = off", to: Self.operation)
    }

    /// Writes the groups of the rows with these codes. A stored group may have rows that are in other components now. Those
    /// components are written separately.
    private func write(_ grouping: Grouping, of codes: Set<ExactText>) async throws -> Int {
        let known = try await Earthquake.withMembers(codes, on: connection)
        let others = Set(known.flatMap(\.members).map(\.code)).subtracting(codes)
        let deleted = try await connection.query(
            """
            select code from unnest(\(others.map(\.text))) as member (code)
            where not exists (select from only public.quake where quake.code = member.code)
            """, to: "look for deleted members"
        ).map { ExactText(try $0.decode("code")) }
        return try await Revision(from: known, to: grouping.earthquakes, of: codes.union(deleted))
            .write(on: connection)
    }

    /// Deletes the members that were deleted from `quake`, the members of deleted groups, and the empty groups.
    private func removeRest() async throws -> Int {
        try await connection.execute(
            script: "close quakes; set local enable_seqscan = on", to: Self.operation)
        var written = 0
        for (reason, statement) in Self.rest {
            try await Revision.setReason(reason, on: connection)
            written += try await connection.execute(statement, to: "remove old groups")
        }
        return written
    }

    private static let rest: [(reason: ExactText, statement: Query)] = [
        (
            "withdrawn",
            """
            delete from only public.earthquake_member m
            where not exists (select from only public.quake q where q.code = m.code)
            """
        ),
        (
            "split",
            """
            delete from only public.earthquake_member m
            where not exists (select from only public.earthquake e where e.code = m.earthquake)
            """
        ),
        (
            "withdrawn",
            """
            delete from only public.earthquake e
            where not exists (select from only public.earthquake_member m where m.earthquake = e.code)
            """
        ),
    ]
}
