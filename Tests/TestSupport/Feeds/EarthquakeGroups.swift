import PostgreSQL

extension TestDatabase {
    /// Groups rows into one earthquake in one transaction, as `quakes associate` does. The earthquakes that the rows belonged to
    /// before are dissolved. With a single code, no new earthquake is made.
    ///
    /// - Parameters:
    ///   - codes: the rows; the first code names the earthquake.
    ///   - preferred: the row to show; nil selects the first row.
    ///   - magnitudeFrom: the row whose magnitude is shown; nil selects the preferred row.
    public func group(_ codes: [String], preferred: String? = nil, magnitudeFrom: String? = nil) async throws
    {
        let named = codes.map { "'\($0)'" }.joined(separator: ", ")
        let shown = preferred ?? codes[0]
        let inserts = """
            insert into public.earthquake
            select '\(codes[0])', '\(shown)', '\(magnitudeFrom ?? shown)', count(distinct report.agency(net))
            from public.quake where code in (\(named));
            insert into public.earthquake_member
            select code, '\(codes[0])', case code when '\(codes[0])' then '\(codes[codes.count - 1])' else '\(codes[0])' end,
                   1, 2, 0.1, 3, 'pair', false
            from public.quake where code in (\(named))
            """
        try await withConnection { connection in
            try await connection.execute(
                script: """
                    delete from public.earthquake_member where earthquake in (
                        select earthquake from public.earthquake_member where code in (\(named)));
                    delete from public.earthquake e where not exists (
                        select from public.earthquake_member m where m.earthquake = e.code)
                    \(codes.count > 1 ? "; \(inserts)" : "")
                    """, to: "group rows")
        }
    }

    /// Inserts one earthquake that three agencies report, and two more rows. `us1`, `gfz:a` and `emsc:b` are the same earthquake,
    /// which happened one minute after `us2` and two minutes after `emsc:c`. The rows are not grouped.
    public func importAgencies() async throws {
        try await query(
            """
            insert into quake (code, net, net_code, magnitude, magnitude_type, place, time, updated, longitude, latitude, depth, url)
            select code, net, 'x', magnitude, magnitude_type, place, '2026-01-01 00:00:00+00'::timestamptz + seconds * interval '1 second',
                   '2026-01-01 01:00:00+00', longitude, 20, depth, 'https://' || net || '.example.org/' || code
            from (values ('us1', 'us', 5.0, 'mb', 'Onetown', 120, 10.0, 10), ('gfz:a', 'gfz', 5.3, 'Mw', 'One Region', 121, 10.1, 12),
                         ('emsc:b', 'emsc', 5.1, 'mb', 'ONE COUNTRY', 118.5, 10.2, 15), ('us2', 'us', 3.0, 'ml', 'Twotown', 60, 50, 5),
                         ('emsc:c', 'emsc', null, null, 'Three', 0, 60, null))
                as given (code, net, magnitude, magnitude_type, place, seconds, longitude, depth)
            """)
    }
}
