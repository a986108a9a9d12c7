import Feed
import Logging
import PostgreSQL

/// Compares the table with an event service over a stretch of origin times, event by event, and repairs the differences.
///
/// It reads the service as a backfill does: window by window, each with fewer events than the service gives at once. Only
/// complete answers are compared; an answer that was cut off ends the verification.
public struct Verification: Sendable {
    public struct Options: Sendable {
        public var service = EventService.usgs
        public var from: Instant
        /// The end of the origin times, exclusive.
        public var to: Instant
        /// The shortest time between two requests.
        public var pace: Duration = .seconds(1)

        public init(from: Instant, to: Instant) {
            (self.from, self.to) = (from, to)
        }
    }

    public struct Finding: Sendable, Equatable {
        public let kind: Kind
        public let code: String
        /// The event's origin time in the service, or in the table if the service does not have the event.
        public let time: Instant
        /// When the event was revised: in the table (`here`) and in the service (`there`); nil where the event is missing.
        public let here: Instant?
        public let there: Instant?

        fileprivate init(_ row: Row) throws {
            kind = Kind(rawValue: try row.decode("kind")) ?? .different
            code = try row.decode("code")
            time = try row.decode("time")
            here = try row.decodeIfPresent("here")
            there = try row.decodeIfPresent("there")
        }
    }

    public enum Kind: String, Sendable, CaseIterable {
        /// The service has the event, and the table does not.
        case missing
        /// The table's version was revised earlier than the service's.
        case older
        /// The table's version was revised later than the service's.
        case newer
        /// Both versions were revised at the same time, or the table's version has no time of revision, and their values differ.
        case different
        /// The table has the event, and the service does not.
        case surplus
    }

    public struct Outcome: Sendable {
        public var findings = 0
        public var events = 0
        /// How many features could not be read; they are not compared.
        public var rejected = 0
        public var requests = 0
        /// The windows, and how many events the service counts in each of them; nil if it does not count.
        var windows: [(window: Range<Instant>, count: Int?)] = []
        /// The greatest number of events that the service was found to give at once.
        var limit = 0
        /// The service, without the abilities that it was found to lack.
        var service = EventService.usgs
    }

    /// Events that were revised within this time before an answer are left out, because the worker may not have asked for them
    /// yet. In milliseconds.
    static let grace: Int64 = 900_000
    /// Events within this distance of an end of the stretch do not count as surplus, because a revision may have moved them
    /// across the end. In milliseconds.
    static let edge: Int64 = 60_000

    /// An answer that was made longer ago than this is not compared: too few events would be old enough. In milliseconds.
    private static let longestDelay: Int64 = 86_400_000

    private let connection: Connection
    private let options: Options
    private let imports: Importer.Options
    private let importer: Importer

    /// - Parameter imports: the options for the imports of a repair, and for all requests.
    public init(
        _ connection: Connection, _ options: Options, imports: Importer.Options, logger: Logger
    ) async throws {
        self.connection = connection
        self.options = options
        self.imports = imports
        var repairs = imports
        // The batch size exceeds the number of events in any window, so the repair of a window is one batch, and so one
        // transaction.
        repairs.batchSize = max(imports.batchSize, 2 * options.service.limit)
        importer = try await Importer(connection, options: repairs, logger: logger)
    }

    private var service: EventService { options.service }

    /// Compares the table with the service. The findings stay in a temporary table of the connection, however many there are.
    ///
    /// - Throws: `ShortAnswer` if the service gives fewer events than it counts; `UnfitService` if its answers are unusable, or
    ///   dated more than a day ago; `FeedError`, `PostgresError`.
    public func run() async throws -> Outcome {
        var outcome = Outcome()
        try await connection.execute(
            script: MergeStatement.quietly(
                """
                create temporary table if not exists listed (code text collate "C" primary key, service text);
                create temporary table if not exists finding (
                    kind text not null, code text collate "C" not null, time timestamptz not null, here timestamptz, there timestamptz);
                create index if not exists finding_code on pg_temp.finding (code);
                create index if not exists finding_time on pg_temp.finding (time);
                truncate pg_temp.listed, pg_temp.finding
                """), to: "prepare to compare")
        var windows = ServiceWindows(of: service, for: .verification, pace: options.pace, imports.fetch)
        var plan = BackfillPlan(
            range: options.from..<max(options.from, options.to), isNewestFirst: false, limit: service.limit,
            reached: options.from, expected: windows.service.abilities.contains(.counts) ? 0 : nil)
        var made = Instant.now
        var answer: Answer?
        try await windows.walk(&plan) { _, _, _, url in
            answer = try await read(url)
            return answer?.given ?? (0, nil)
        } took: { window, count, given, plan, _ in
            outcome.events += given
            outcome.windows.append((window, count))
            outcome.limit = plan.limit
            guard given > 0, let answer else { return }
            made = min(made, answer.made)
            try await compare(answer)
            outcome.rejected += answer.batch.rejections.count
        }
        (outcome.service, outcome.requests) = (windows.service, windows.requests)
        try await findSurplus(made)
        outcome.findings = try await connection.query(
            "select count(*) as count from pg_temp.finding", to: "count the differences")[0].decode("count")
        return outcome
    }

    /// Calls `body` with each finding, in order of origin time; surplus events come last.
    public func forEachFinding(_ body: @Sendable (Finding) throws -> Void) async throws {
        try await connection.forEachRow(
            of: """
                select kind, code, time, here, there from pg_temp.finding order by kind = 'surplus', time, code
                """, to: "read the differences"
        ) { try body(Finding($0)) }
    }

    // MARK: The service

    private typealias Answer = (batch: FeatureBatch, given: ServiceWindows.Given, made: Instant)

    /// Reads one window; nil if the service has no events there.
    private func read(_ url: String) async throws -> Answer? {
        let asked = imports.now()
        var intake = Intake(batchSize: .max)
        intake.keeping = .row
        var scanner = DocumentScanner(of: .url(url))
        func add(_ feature: RawFeature) throws -> Bool {
            _ = try intake.add(feature)
            return true
        }
        do {
            try await FeedSource.url(url).read(options: imports.fetch) { chunk in
                _ = try chunk.withUnsafeBufferPointer { try scanner.scan($0, add) }
            }
            while try !scanner.finish(add) {}
            if let breach = scanner.breach { throw breach }
        } catch let failure as FeedError where failure.status == 204 {
            return nil
        }
        let made = scanner.metadata.generated ?? asked
        guard made > asked - Self.longestDelay else {
            throw UnfitService(
                service,
                "it dates an answer of now \(made): its clock is wrong, or the answer is an old copy",
                asFor: .verification)
        }
        return (intake.batches[0], (scanner.count, scanner.metadata.count), made)
    }

    // MARK: The table

    private func compare(_ answer: Answer) async throws {
        let batch = answer.batch
        let recent = answer.made - Self.grace
        try await connection.write(to: "compare with the service") {
            try await connection.execute(script: MergeStatement.incomingTable, to: "prepare to compare")
            try await connection.copy(batch.newest(without: []).indices, of: batch, into: "pg_temp.incoming")
            // Longer codes are left out: no imported row has one, and an index entry can't hold a text of any length.
            let unread = try batch.rejections.compactMap { rejected in
                try batch.withBytes(of: rejected.feature) { readableCode(of: $0) }
            }
            .filter { $0.utf8.count <= Quake.codeLimit }
            try await connection.query(
                """
                insert into pg_temp.listed (code, service)
                select code, import.service_of(url) from pg_temp.incoming
                union select code, null from unnest(\(unread)) as unread(code)
                on conflict do nothing
                """, to: "note the service's events")
            try await connection.execute(
                """
                insert into pg_temp.finding (kind, code, time, here, there)
                select case when quake.code is null then 'missing' when quake.updated = quake.time then 'different'
                            when quake.updated < i.updated then 'older' when quake.updated > i.updated then 'newer'
                            else 'different' end as kind,
                       i.code, i.time, quake.updated, i.updated
                from pg_temp.incoming i \(unescaped: LookUp.row(of: "i.code"))
                where (quake.code is null
                       or (\(unescaped: Property.allCases.list("quake.")))
                          is distinct from (\(unescaped: Property.allCases.list("i."))))
                  and i.updated < \(recent)
                  and (quake.updated is null or quake.updated < \(recent) or import.is_misdated(quake.updated))
                  and i.time >= \(options.from) and i.time < \(options.to)
                  -- A version without a time of revision, such as one in text, is older than a version with one.
                  and (i.updated <> i.time or quake.updated is null or quake.updated = quake.time)
                """, to: "compare with the service")
        }
    }

    /// Finds the events that the table has from the service, but that the service does not list. If the service lists only events
    /// of other services, as another Quakes server does, the events of those services are checked instead.
    private func findSurplus(_ made: Instant) async throws {
        try await connection.execute(
            """
            with spoken as materialized (
                select distinct service from pg_temp.listed where service is not null),
            services as materialized (
                select \(service.host) as service
                union select service from spoken
                where not exists (select from spoken where service = \(service.host)))
            insert into pg_temp.finding (kind, code, time, here)
            select 'surplus', q.code, q.time, q.updated
            from only public.quake q
            where q.time > \(options.from + Self.edge) and q.time < \(options.to - Self.edge)
              and (q.updated < \(made - Self.grace) or import.is_misdated(q.updated))
              and import.service_of(q.url) in (select service from services)
              and not exists (select from pg_temp.listed where listed.code = q.code)
            """, to: "look for events that the service lacks")
    }

    // MARK: Repair

    public struct Repair: Sendable {
        public var counts = ImportCounts()
        /// How many findings remain after the repair.
        public var left = 0
        /// The codes of the first few findings that remain.
        public var codes: [String] = []
        /// The error of the first window that the brake stopped, or that had too many rejects; the other windows were repaired.
        public var failure: (any Error)?
    }

    private static let namedCodes = 20

    /// Imports and settles the windows that have findings. Each window is one transaction. The import also replaces events that
    /// the table has in a later version than the service, and the brake counts these, too.
    ///
    /// An answer without any event repairs nothing, unless it is a document and the service also counted no events in the window.
    ///
    /// - Throws: the error that ends the import of a window, unless it is the brake or too many rejects.
    public func repair(_ outcome: Outcome) async throws -> Repair {
        var repair = Repair()
        let service = outcome.service
        for (window, count) in outcome.windows {
            guard let range = try await range(of: window) else { continue }
            try await imports.fetch.sleep(options.pace)
            let question = EventService.Question(since: range.lowerBound, until: range.upperBound)
            let summary = try await importer.run(
                .url(service.queryURL(of: question)),
                window: ImportWindow(
                    name: "verify \(service.source)", range: range, isPartial: false,
                    count: range == window ? count : nil, limit: outcome.limit, isRepair: true))
            repair.counts += summary.counts
            switch summary.failure {
            case nil: break
            case let failure as FeedError where failure.status == 204: break
            case let failure? where failure is BrakeHeld || failure is Failure:
                repair.failure = repair.failure ?? failure
            case let failure?: throw failure
            }
            if summary.counts.seen > 0 { try await drop(window, summary.counts) }
        }
        let left = try await left()
        (repair.left, repair.codes) = (left.count, left.codes)
        return repair
    }

    /// The range to import for a window; nil if the window has no findings. If a surplus event is close to an end of the window,
    /// the range is a little longer than the window, because settling does not delete missing events that are so close to an end
    /// of the imported range.
    private func range(of window: Range<Instant>) async throws -> Range<Instant>? {
        let found = try await connection.query(
            """
            select count(*) > 0 as is_any,
                   count(*) filter (where kind = 'surplus' and (time <= \(window.lowerBound + Self.edge)
                                                                or time >= \(window.last - Self.edge))) > 0 as is_close
            from pg_temp.finding where time >= \(window.lowerBound) and time < \(window.upperBound)
            """, to: "look for differences in a window")[0]
        guard try found.decode("is_any") else { return nil }
        guard try found.decode("is_close") else { return window }
        let start = max(options.from, window.lowerBound - Self.edge)
        return start..<min(options.to, window.upperBound + Self.edge)
    }

    /// Drops the findings that the import of a window has repaired. The findings of the kinds `surplus` and `newer` stay, because
    /// the brake or a newer document may have stopped their repair. A finding also stays if the table refused the event, or if a
    /// trigger kept its old values.
    private func drop(_ window: Range<Instant>, _ counts: ImportCounts) async throws {
        try await connection.execute(
            """
            delete from pg_temp.finding f
            where time >= \(window.lowerBound) and time < \(window.upperBound)
              and case kind when 'missing' then exists (select from only public.quake q where q.code = f.code)
                            when 'older' then not exists (select from only public.quake q
                                                          where q.code = f.code and q.updated = f.here)
                            when 'different' then \(counts.updated) >= (
                                select count(*) from pg_temp.finding o
                                where o.time >= \(window.lowerBound) and o.time < \(window.upperBound)
                                  and o.kind in ('older', 'different')) end
            """, to: "drop the repaired differences")
    }

    private func left() async throws -> (count: Int, codes: [String]) {
        let rows = try await connection.query(
            """
            select f.code, count(*) over () as count
            from pg_temp.finding f \(unescaped: LookUp.row(of: "f.code"))
            where f.kind not in ('surplus', 'newer') or quake.updated = f.here
            order by f.time, f.code limit \(Self.namedCodes)
            """, to: "look for remaining differences")
        return (try rows.first?.decode("count") ?? 0, try rows.map { try $0.decode("code") })
    }
}
