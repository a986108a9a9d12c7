import Association
import Feed
import PostgreSQL

extension SolutionChange {
    /// The rows of `quake` that have changed after a token, as they were at that token and as they are now. A row is left out if
    /// none of the columns that association needs has changed.
    static func all(after token: Int, on connection: Connection) async throws -> [SolutionChange] {
        let rows = try await connection.query(
            """
            with undone as (\(HistoryText.undone(of: "history.since(\(token), 'quake')")))
            select \(unescaped: SolutionColumns.expressions(of: "past")),
                   \(unescaped: SolutionColumns.expressions(of: "quake"))
            from undone
            \(unescaped: LookUp.row(of: "undone.key"))
            left join lateral jsonb_to_record(coalesce(to_jsonb(quake.*), '{}') || undone.before)
                as past (\(unescaped: SolutionColumns.declarations)) on undone.operation <> 'insert'
            """, to: "read the changed rows")
        return try rows.compactMap { row in
            var row = row
            let change = SolutionChange(
                before: try Solution.next(in: &row), after: try Solution.next(in: &row))
            return change.before == change.after ? nil : change
        }
    }
}

extension Neighbourhood.Request {
    func rows(on connection: Connection) async throws -> [Solution] {
        let source: Query =
            switch self {
            case .codes(let codes): "only public.quake where quake.code = any(\(codes.map(\.text)))"
            case .times(let ranges):
                // The column `time` may have microseconds, while the ranges are in whole milliseconds.
                """
                unnest(\(ranges.map { Self.instant($0.lowerBound) }), \(ranges.map { Self.instant($0.upperBound) })) as near (first, last)
                cross join lateral (
                    select * from only public.quake
                    where time >= near.first and time < near.last + interval '1 millisecond' offset 0) as quake
                """
            }
        return try await connection.query(
            "select \(unescaped: SolutionColumns.expressions(of: "quake")) from \(source)",
            to: "read the neighbours"
        ).compactMap { row in
            var row = row
            return try Solution.next(in: &row)
        }
    }

    /// The instant, limited to the times that a row can have.
    private static func instant(_ milliseconds: Int64) -> Instant {
        let possible = Instant.possible
        return min(max(Instant(milliseconds: milliseconds), possible.lowerBound), possible.upperBound)
    }
}

extension Earthquake {
    /// The earthquakes that have a member with one of these codes, with all their members.
    static func withMembers(_ codes: Set<ExactText>, on connection: Connection) async throws -> [Earthquake] {
        let rows = try await connection.query(
            """
            select e.code, e.preferred, e.magnitude_from, e.agencies, m.code, m.partner, m.seconds, m.km, m.magnitudes,
                   m.cost, m.rule, m.is_doubtful
            from (select distinct earthquake from public.earthquake_member where code = any(\(codes.map(\.text)))) as known
            cross join lateral (select * from public.earthquake where code = known.earthquake offset 0) as e
            cross join lateral (select * from public.earthquake_member where earthquake = e.code offset 0) as m
            order by e.code, m.code
            """, to: "read the earthquakes")
        var earthquakes: [Earthquake] = []
        for var row in rows {
            guard let code = try row.nextText().map({ ExactText($0) }), let preferred = try row.nextText()
            else {
                throw RowError.other
            }
            let magnitudeFrom = try row.nextText().map { ExactText($0) }
            guard let agencies = try row.nextInteger() else { throw RowError.other }
            let member = try Member.next(in: &row)
            if earthquakes.last?.code == code {
                earthquakes[earthquakes.count - 1].members.append(member)
            } else {
                earthquakes.append(
                    Earthquake(
                        code: code, preferred: ExactText(preferred), magnitudeFrom: magnitudeFrom,
                        agencies: Int(agencies),
                        members: [member]))
            }
        }
        return earthquakes
    }
}

extension Member {
    fileprivate static func next(in row: inout Row) throws -> Member {
        guard let code = try row.nextText(), let partner = try row.nextText(),
            let seconds = try row.nextDouble(),
            let kilometres = try row.nextDouble()
        else { throw RowError.other }
        let magnitudes = try row.nextDouble()
        guard let cost = try row.nextDouble(), let rule = try row.nextText().flatMap(Rule.init),
            let isDoubtful = try row.nextBool()
        else { throw RowError.other }
        return Member(
            code: ExactText(code), partner: ExactText(partner),
            difference: Difference(
                seconds: seconds, kilometres: kilometres, magnitudes: magnitudes, cost: cost),
            rule: rule, isDoubtful: isDoubtful)
    }
}
