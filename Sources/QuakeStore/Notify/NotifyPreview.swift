import Alerts
import Feed
import PostgreSQL

/// The messages that the rules would have sent in the last 30 days, computed from the history.
public struct NotifyPreview: Sendable {
    /// The beginning of the period: 30 days ago, or the beginning of the history if that is later.
    public let start: Instant
    public let end: Instant
    public let rules: [RulePreview]
    /// How many earthquakes of the last 30 days match each rule, regardless of when they were imported.
    public let catalogued: [String: Int]

    public static let reach = Duration.seconds(30 * 86_400)

    public static func read(_ rules: Rules, on connection: Connection) async throws -> NotifyPreview {
        let operation = "preview the rules"
        return try await connection.holdingCatalogue(to: operation) {
            try await connection.execute(script: HistoryText.settings, to: operation)
            var row = try await connection.query(
                """
                select now, greatest(now - make_interval(secs => \(reach / .seconds(1))), pruned_committed_at) as start,
                       coalesce((select token from history.transaction
                                 where committed_at < now - make_interval(secs => \(reach / .seconds(1)))
                                 order by token desc limit 1), pruned_token) as token
                from history.store, notify.now() as now
                """, to: operation)[0]
            guard let end = try row.nextInstant(), let start = try row.nextInstant(),
                let token = try row.nextInteger()
            else { throw RowError.other }
            var changes: [EventChange] = []
            let query = history(after: Int(token), from: end - SeenEvents.reach)
            for var row in try await connection.query(query, to: operation) {
                changes.append(try EventChange(&row))
            }
            var events: [AlertEvent] = []
            let recent: Query = """
                select \(unescaped: AlertEvent.columns.joined(separator: ", ")) from notify.event where time > \(end - reach)
                """
            for var row in try await connection.query(recent, to: operation) {
                if let event = try AlertEvent.next(in: &row) { events.append(event) }
            }
            return NotifyPreview(
                start: start, end: end, rules: rules.preview(of: changes, from: start, to: end),
                catalogued: rules.counts(of: events))
        }
    }

    private static func columns(of row: String) -> String {
        """
        notify.earthquake(\(row).code), \(row).code, \(row).ids, array[\(row).net], \(row).magnitude, \(row).magnitude_type,
        \(row).place, \(row).time, \(row).latitude, \(row).longitude, \(row).depth, \(row).status, \(row).type, \(row).types,
        \(row).nst, \(row).url
        """
    }

    /// Each change with the row before and after it. Both rows are made from the present row by putting back the values that were
    /// overwritten since. Only columns that Quakes defines are included, because the types of other columns may have changed. If
    /// several rows describe one earthquake, only changes of the preferred row count.
    private static func history(after token: Int, from oldest: Instant) -> Query {
        let declarations = Property.allCases.declarations
        return """
            select c.committed_at,
                   case when c.operation = 'delete' then notify.earthquake(substring(c.reason from '^superseded by (.+)$')) end,
                   \(unescaped: columns(of: "earlier")), \(unescaped: columns(of: "later"))
            from (select s.*, history.overwritten(s.before) over (
                      partition by s.key collate "C" order by s.token desc, s.ordinal desc
                      rows between unbounded preceding and 1 preceding) as since
                  from history.since(\(token), 'quake') as s) as c
            left join lateral (select to_jsonb(quake.*) as image from only public.quake where quake.code = c.key offset 0) as present
                on true
            cross join lateral (select coalesce(present.image, '{}') || coalesce(c.since, '{}') as image) as after
            left join lateral jsonb_to_record(after.image) as later (\(unescaped: declarations)) on c.operation <> 'delete'
            left join lateral jsonb_to_record(after.image || coalesce(c.before, '{}')) as earlier (\(unescaped: declarations))
                on c.operation <> 'insert'
            where (later.time > \(oldest) or earlier.time > \(oldest))
              and c.key = coalesce(
                  (select preferred from public.earthquake where earthquake.code = notify.earthquake(c.key)), c.key)
            order by c.token, c.ordinal
            """
    }
}
