import Association
import Feed
import PostgreSQL

/// The table `association_override`, in which people override the association.
public enum Overrides {
    static func all(on connection: Connection) async throws -> [Override] {
        let rows = try await connection.query(
            "select verdict, a, b from only public.association_override", to: "read the overrides")
        return try rows.map { row in
            let a = ExactText(try row.decode("a"))
            switch try row.decode("verdict", as: String.self) {
            case "same": return .same(a, ExactText(try row.decode("b")))
            case "different": return .different(a, ExactText(try row.decode("b")))
            default: return .preferred(a)
            }
        }
    }

    /// The overrides that were stored or removed after a token. Their verdicts are not read, because only their codes are needed:
    /// an override about two rows is returned as `same`.
    static func changed(after token: Int, on connection: Connection) async throws -> [Override] {
        let rows = try await connection.query(
            """
            select distinct coalesce(said.a, change.before ->> 'a') as a, coalesce(said.b, change.before ->> 'b') as b
            from history.since(\(token), 'association_override') as change
            left join only public.association_override as said on said.pair = change.key
            where said.pair is not null or change.operation = 'delete'
            """, to: "read the changed overrides")
        return try rows.map(withoutVerdict)
    }

    private static func withoutVerdict(_ row: Row) throws -> Override {
        let a = ExactText(try row.decode("a"))
        return try row.decodeIfPresent("b").map { .same(a, ExactText($0)) } ?? .preferred(a)
    }

    /// Changes the codes in overrides about events that were renamed. If several overrides are about the same rows then, the
    /// latest one stays.
    ///
    /// - Returns: the changed overrides, as `changed` returns them.
    static func followRenames(on connection: Connection) async throws -> [Override] {
        try await connection.query(
            """
            with old as (
                delete from only public.association_override said
                using (select pair, coalesce(import.successor(a, false), a) as a, coalesce(import.successor(b, false), b) as b
                       from only public.association_override given
                       where not exists (select from only public.quake q where q.code = given.a)
                          or given.b is not null and not exists (select from only public.quake q where q.code = given.b)) as new
                where said.pair = new.pair and (said.a, said.b) is distinct from (new.a, new.b)
                returning new.a, new.b, said.verdict, said.reason, said.author, said.said_at),
            stored as (
                insert into public.association_override as said (a, b, verdict, reason, author, said_at)
                select distinct on (least(a, b), greatest(a, b)) a, b, verdict, reason, author, said_at
                from old where a is distinct from b
                order by least(a, b), greatest(a, b), said_at desc, verdict
                on conflict (pair) do update
                set verdict = excluded.verdict, reason = excluded.reason, author = excluded.author, said_at = excluded.said_at
                where said.said_at < excluded.said_at)
            select a, b from old
            """, to: "find the new codes of events that people have decided about"
        ).map(withoutVerdict)
    }

    /// Stores an override. It replaces an earlier override for the same rows.
    public static func say(_ override: Override, because reason: String?, on connection: Connection)
        async throws
    {
        let (verdict, a, b): (String, ExactText, ExactText?) =
            switch override {
            case .same(let a, let b): ("same", a, b)
            case .different(let a, let b): ("different", a, b)
            case .preferred(let code): ("preferred", code, nil)
            }
        _ = try await connection.write(to: "store the override") {
            try await connection.execute(
                """
                insert into public.association_override as said (a, b, verdict, reason)
                values (\(a.text), \(b?.text), \(verdict), \(reason))
                on conflict (pair) do update
                set verdict = excluded.verdict, reason = excluded.reason, author = excluded.author, said_at = excluded.said_at
                where (said.verdict, said.reason) is distinct from (excluded.verdict, excluded.reason)
                """, to: "store the override")
        }
    }

    /// Removes an override. Two codes mean the override about these two rows; one code means the override that prefers this row.
    ///
    /// - Returns: false if there was no such override.
    public static func takeBack(_ codes: [String], on connection: Connection) async throws -> Bool {
        try await connection.write(to: "take the override back") {
            try await connection.execute(
                """
                delete from only public.association_override
                where a = \(codes[0]) and b is not distinct from \(codes.dropFirst().first)
                   or a = \(codes.last) and b = \(codes[0])
                """, to: "take the override back") > 0
        }
    }
}
