import PostgreSQL

/// An invented agency that reports two thirds of the USGS's earthquakes, with errors. The errors of a row are computed from the
/// row's code.
public struct MadeUpAgency: Sendable {
    private let name: String
    private let scatter: Double

    public static let all = [("gfz", 1.0), ("emsc", 2), ("ingv", 0.5)].map {
        MadeUpAgency(name: $0, scatter: $1)
    }

    /// A script that copies the USGS's new and revised events, and deletes half of the rows whose events the USGS has withdrawn.
    public var report: String {
        func part(_ word: String, _ size: Double) -> String {
            "(hashtext(q.code || '\(name) \(word)') % 1000) / 1000.0 * \(size * scatter)"
        }
        return """
            begin;
            insert into quake (code, net, net_code, time, updated, longitude, latitude, depth, magnitude, magnitude_type)
            select '\(name):' || q.code, '\(name)', q.code, q.time + interval '1 second' * \(part("time", 2)), q.updated,
                   q.longitude + \(part("longitude", 0.1)), q.latitude + \(part("latitude", 0.1)), q.depth,
                   q.magnitude + \(part("magnitude", 0.3)), 'mb'
            from quake q
            where report.agency(q.net) = 'usgs' and hashtext(q.code || '\(name)') % 3 <> 0
            on conflict (code) do update
            set time = excluded.time, updated = excluded.updated, longitude = excluded.longitude, latitude = excluded.latitude,
                depth = excluded.depth, magnitude = excluded.magnitude
            where quake.updated < excluded.updated;
            delete from quake g
            where g.net = '\(name)' and hashtext(g.code) % 2 = 0 and not exists (select from quake q where q.code = g.net_code);
            commit
            """
    }
}

extension TestDatabase {
    /// Whether the association has processed all changes of the table.
    public func isAssociated() async throws -> Bool {
        try await query(
            """
            select not exists (
                select from history.transaction t join history.change c on c.transaction = t.id
                where c.entity = 'quake'
                  and t.token > coalesce((select split_part(position, '_', 1)::bigint from import.association), 0)) as is_done
            """)[0].decode("is_done")
    }
}
