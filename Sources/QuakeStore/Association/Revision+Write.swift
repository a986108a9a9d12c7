import Association
import Feed
import PostgreSQL

extension Revision {
    /// Writes the revision in the open transaction. Changes with the same reason are written together.
    ///
    /// - Returns: how many rows were written or deleted.
    func write(on connection: Connection) async throws -> Int {
        var written = 0
        for (reason, departures) in Dictionary(grouping: departures, by: \.reason).inOrder {
            written += try await Self.delete(
                departures.map(\.code), from: "earthquake_member", because: reason, on: connection)
        }
        for (reason, removals) in Dictionary(grouping: removals, by: \.reason).inOrder {
            written += try await Self.delete(
                removals.map(\.code), from: "earthquake", because: reason, on: connection)
        }
        for (reason, updates) in Dictionary(grouping: updates, by: \.reason).inOrder {
            try await connection.setReason(reason.text)
            written += try await Self.write(updates.map(\.earthquake), on: connection)
            written += try await Self.write(
                updates.flatMap { update in
                    update.members.map { (earthquake: update.earthquake.code, member: $0) }
                },
                on: connection)
        }
        return written
    }

    private static func delete(
        _ codes: [ExactText], from table: String, because reason: ExactText, on connection: Connection
    ) async throws -> Int {
        try await connection.setReason(reason.text)
        return try await connection.execute(
            "delete from only public.\(unescaped: table) where code = any(\(codes.map(\.text)))",
            to: "delete from \(table)")
    }

    private static func write(_ earthquakes: [Earthquake], on connection: Connection) async throws -> Int {
        try await connection.execute(
            """
            insert into public.earthquake as known (code, preferred, magnitude_from, agencies)
            select * from \(earthquakes.rows) as new
            on conflict (code) do update
            set preferred = excluded.preferred, magnitude_from = excluded.magnitude_from, agencies = excluded.agencies
            where (known.preferred, known.magnitude_from, known.agencies)
                  is distinct from (excluded.preferred, excluded.magnitude_from, excluded.agencies)
            """, to: "write the earthquakes")
    }

    private static func write(
        _ members: [(earthquake: ExactText, member: Member)], on connection: Connection
    ) async throws -> Int {
        try await connection.execute(
            """
            insert into public.earthquake_member
                (code, earthquake, partner, seconds, km, magnitudes, cost, rule, is_doubtful)
            select * from \(Member.rows(members)) as new
            on conflict (code) do update
            set earthquake = excluded.earthquake, partner = excluded.partner, seconds = excluded.seconds, km = excluded.km,
                magnitudes = excluded.magnitudes, cost = excluded.cost, rule = excluded.rule, is_doubtful = excluded.is_doubtful
            """, to: "write the members")
    }
}

extension [Earthquake] {
    /// The rows of the table `earthquake`, for a FROM clause. Each column is sent as an array. Arrays have no nulls, so an empty
    /// text stands for null.
    var rows: Query {
        """
        (select code, preferred, nullif(magnitude_from, '') as magnitude_from, agencies
         from unnest(\(map(\.code.text)), \(map(\.preferred.text)), \(map { $0.magnitudeFrom?.text ?? "" }),
                     \(map { Int64($0.agencies) })) as sent (code, preferred, magnitude_from, agencies))
        """
    }
}

extension Member {
    /// The rows of the table `earthquake_member`, like the rows of `earthquake`. NaN stands for null.
    static func rows(_ members: [(earthquake: ExactText, member: Member)]) -> Query {
        func numbers(_ value: (Difference) -> Double?) -> [Double] {
            members.map { $0.member.difference.flatMap(value) ?? .nan }
        }
        return """
            (select code, earthquake, partner, seconds, km, nullif(magnitudes, 'NaN') as magnitudes, cost, rule, is_doubtful
             from unnest(\(members.map(\.member.code.text)), \(members.map(\.earthquake.text)),
                         \(members.map { $0.member.partner?.text ?? "" }), \(numbers { $0.seconds }),
                         \(numbers { $0.kilometres }), \(numbers { $0.magnitudes }), \(numbers { $0.cost }),
                         \(members.map { $0.member.rule?.rawValue ?? "" }), \(members.map(\.member.isDoubtful)))
                 as sent (code, earthquake, partner, seconds, km, magnitudes, cost, rule, is_doubtful))
            """
    }
}

extension Dictionary where Key == ExactText {
    /// The entries in the order of their keys, so that passes with the same changes write in the same order.
    fileprivate var inOrder: [(key: ExactText, value: Value)] { sorted { $0.key < $1.key } }
}
