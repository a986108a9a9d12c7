import Feed
import Logging
import PostgreSQL

/// Compares a stretch of the table with what an event service has, event by event, and repairs what differs.
///
/// It reads the service as a backfill does: window by window, each with fewer events than the service gives at once. What is
/// compared is a whole answer; one that is cut off ends the verification.
public struct Verification: Sendable {
    public struct Options: Sendable {
        public var service = EventService.usgs
        /// The earliest origin time.
        public var from: Instant
        /// The end of the origin times, exclusive.
        public var to: Instant
        /// The shortest time between two requests.
        public var pace: Duration = .seconds(1)

        public init(from: Instant, to: Instant) {
            (self.from, self.to) = (from, to)
        }
    }

    /// One event that the table and the service do not agree about.
    public struct Finding: Sendable, Equatable {
        public let kind: Kind
        public let code: String
        /// Its origin time: the service's, or if that does not have it, the table's.
        public let time: Instant
        /// When it was revised, as the table has it, and as the service has it.
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
        /// The table does not have it.
        case missing
        /// The table has an earlier version.
        case older
        /// The table has a later version than the service.
        case newer
        /// The table has other values in a version of the same time.
        case different
        /// The table has it, and the service does not.
        case surplus
    }

    public struct Outcome: Sendable {
        public var findings: [Finding] = []
        /// How many events the service has there.
        public var events = 0
        /// How many of them could not be read, and are not compared.
        public var rejected = 0
        public var requests = 0
        /// The windows in which events were asked for, and how many each had.
        var windows: [(range: Range<Instant>, count: Int)] = []
        /// The service, with what is known by now of what it can do.
        var service = EventService.usgs
    }

    /// What was revised within this time is left out: the worker may not have asked for it yet. In milliseconds.
    static let grace: Int64 = 900_000
    /// Events this close to an end of the stretch are not missed by the service: a revision may have moved them across. In
    /// milliseconds.
    static let edge: Int64 = 60_000

    private let connection: Connection
    private let options: Options
    private let imports: Importer.Options
    private let importer: Importer
    private let logger: Logger

    /// - Parameter imports: how a repair imports, and how everything is fetched.
    public init(
        _ connection: Connection, _ options: Options, imports: Importer.Options, logger: Logger
    ) async throws {
        self.connection = connection
        self.options = options
        self.imports = imports
        self.logger = logger
        importer = try await Importer(connection, options: imports, logger: logger)
    }

    private var service: EventService { options.service }

    /// - Throws: `ShortAnswer` if the service does not give what it counts; `FeedError`, `PostgresError`.
    public func run() async throws -> Outcome {
        var outcome = Outcome()
        try await connection.execute(
            script: """
                set client_min_messages = warning;
                create temporary table if not exists listed (code text collate "C" primary key, service text);
                truncate pg_temp.listed;
                set client_min_messages = notice
                """, to: "prepare to compare")
        var service = service
        service.limit = imports.sweepLimit ?? service.limit
        var windows = ServiceWindows(
            service: service, purpose: .verification, pace: options.pace, fetch: imports.fetch)
        try await windows.findForm()
        var plan = BackfillPlan(
            range: options.from..<options.to, isNewestFirst: false, limit: service.limit,
            reached: options.from, expected: windows.service.abilities.contains(.counts) ? 0 : nil)
        var made = Instant.now
        var answer: Answer?
        try await windows.walk(&plan) { window, count, _, url in
            answer = try await read(url)
            let given = answer?.given ?? 0
            if let count, given < count { throw ShortAnswer(window: window, given: given, counted: count) }
            return given
        } took: { window, given, _, _ in
            outcome.events += given
            outcome.windows.append((window, given))
            guard given > 0, let answer else { return }
            made = min(made, answer.made)
            outcome.findings += try await compare(answer)
            outcome.rejected += answer.batch.rejections.count
        }
        (outcome.service, outcome.requests) = (windows.service, windows.requests)
        outcome.findings += try await surplus(made)
        return outcome
    }

    // MARK: The service

    private typealias Answer = (batch: FeatureBatch, given: Int, made: Instant)

    /// - Returns: nil if the service has nothing there.
    private func read(_ url: String) async throws -> Answer? {
        let asked = Instant.now
        var intake = Intake(batchSize: .max)
        intake.keeping = .row
        var scanner = DocumentScanner(host: service.host, isAnswer: true)
        func add(_ feature: RawFeature) throws -> Bool {
            _ = try intake.add(feature)
            return true
        }
        do {
            try await FeedSource.url(url).read(options: imports.fetch) { chunk in
                _ = try chunk.withUnsafeBufferPointer { try scanner.scan($0, add) }
            }
            while try !scanner.finish(add) {}
        } catch let failure as FeedError where failure.status == 204 {
            return nil
        }
        return (intake.batches[0], scanner.count, scanner.metadata.generated ?? asked)
    }

    // MARK: The table

    private func compare(_ answer: Answer) async throws -> [Finding] {
        let batch = answer.batch
        let batchImport = BatchImport(
            connection: connection, logger: logger, run: nil, runningCounts: RunningCounts())
        let recent = Instant(milliseconds: answer.made.milliseconds - Self.grace)
        return try await connection.write(to: "compare with the service") {
            try await connection.execute(script: MergeStatement.incomingTable, to: "prepare to compare")
            try await batchImport.copy(
                batch.newest(without: []).indices, of: batch, into: "pg_temp.incoming")
            let unread = try batch.rejections.compactMap { rejected in
                try batch.withBytes(of: rejected.feature) { readableCode(of: $0) }
            }
            try await connection.query(
                """
                insert into pg_temp.listed (code, service)
                select code, import.service_of(url) from pg_temp.incoming
                union select code, null from unnest(\(unread)) as unread(code)
                on conflict do nothing
                """, to: "note what the service has")
            let rows = try await connection.query(
                """
                select case when q.code is null then 'missing' when q.updated < i.updated then 'older'
                            when q.updated > i.updated then 'newer' else 'different' end as kind,
                       i.code, i.time, q.updated as here, i.updated as there
                from pg_temp.incoming i left join only public.quake q on q.code = i.code
                where (q.code is null
                       or (\(unescaped: Property.allCases.list("q.")))
                          is distinct from (\(unescaped: Property.allCases.list("i."))))
                  and i.updated < \(recent) and (q.updated is null or q.updated < \(recent) or q.updated > now())
                order by i.time, i.code
                """, to: "compare with the service")
            return try rows.map { try Finding($0) }
        }
    }

    /// What the table has of the service, and the service does not list. A service that lists only events of others passes
    /// their words on, as another Quakes does.
    private func surplus(_ made: Instant) async throws -> [Finding] {
        let recent = Instant(milliseconds: made.milliseconds - Self.grace)
        let start = Instant(milliseconds: options.from.milliseconds + Self.edge)
        let end = Instant(milliseconds: options.to.milliseconds - Self.edge)
        let rows = try await connection.query(
            """
            with spoken as materialized (
                select distinct service from pg_temp.listed where service is not null),
            services as materialized (
                select \(service.host) as service
                union select service from spoken
                where not exists (select from spoken where service = \(service.host)))
            select 'surplus' as kind, q.code, q.time, q.updated as here, null::timestamptz as there
            from only public.quake q
            where q.time > \(start) and q.time < \(end) and q.updated < \(recent)
              and import.service_of(q.url) in (select service from services)
              and not exists (select from pg_temp.listed where listed.code = q.code)
            order by q.time, q.code
            """, to: "look for what the service does not have")
        return try rows.map { try Finding($0) }
    }

    // MARK: Repair

    /// Imports and settles the windows in which something was found, and nothing else. What the table has in a later version
    /// than the service is taken away first: no import would overwrite it.
    ///
    /// - Returns: what the imports did, and what is still surplus. An answer without any event deletes none, unless the
    ///   service said twice that it has none.
    /// - Throws: whatever ends one of them, such as `BrakeHeld`.
    public func repair(_ outcome: Outcome) async throws -> (counts: ImportCounts, left: [Finding]) {
        var counts = ImportCounts()
        let service = outcome.service
        for (window, count) in outcome.windows {
            let found = outcome.findings.filter { window.contains($0.time) }
            guard !found.isEmpty else { continue }
            try await delete(found.filter { $0.kind == .newer })
            try await imports.fetch.sleep(options.pace)
            let range = range(of: window, with: found)
            let question = EventService.Question(since: range.lowerBound, until: range.upperBound)
            let summary = try await importer.run(
                .url(service.queryURL(of: question)),
                window: ImportWindow(
                    name: "verify \(service.source)", range: range, isPartial: false, count: count,
                    limit: service.limit, label: "verify"))
            counts += summary.counts
            if let failure = summary.failure, (failure as? FeedError)?.status != 204 { throw failure }
        }
        return (counts, try await stillHere(outcome.findings.filter { $0.kind == .surplus }))
    }

    /// A window, or a little more of the stretch if an event is surplus too close to the window's end to be missed there.
    private func range(of window: Range<Instant>, with found: [Finding]) -> Range<Instant> {
        let (start, end) = (window.lowerBound.milliseconds, window.upperBound.milliseconds)
        let isClose = found.contains { finding in
            let time = finding.time.milliseconds
            return finding.kind == .surplus && (time <= start + Self.edge || time >= end - 1 - Self.edge)
        }
        guard isClose else { return window }
        let wider = (Instant(milliseconds: start - Self.edge), Instant(milliseconds: end + Self.edge))
        return max(options.from, wider.0)..<min(options.to, wider.1)
    }

    private func stillHere(_ findings: [Finding]) async throws -> [Finding] {
        let rows = try await connection.query(
            """
            select q.code from only public.quake q
            join unnest(\(findings.map(\.code)), \(findings.map { $0.here ?? .now })) as found(code, updated)
                using (code, updated)
            """, to: "look for what is still surplus")
        let codes = Set(try rows.map { ExactText(try $0.decode("code")) })
        return findings.filter { codes.contains(ExactText($0.code)) }
    }

    private func delete(_ findings: [Finding]) async throws {
        guard !findings.isEmpty else { return }
        try await connection.write(to: "delete versions that the service does not have") {
            _ = try await connection.query(
                """
                select set_config('history.reason', \("corrected by \(service.host)"), true),
                       set_config('import.settling', 'on', true), \(MergeStatement.waitingForStandbys)
                """, to: "name the reason")
            try await connection.execute(
                """
                delete from only public.quake q using unnest(\(findings.map(\.code)), \(findings.map { $0.here ?? .now }))
                    as wrong(code, updated)
                where q.code = wrong.code and q.updated = wrong.updated
                """, to: "delete versions that the service does not have")
        }
    }
}
