import Feed
import Logging
import PostgreSQL

/// Imports a stretch of the past from an FDSN event service, window by window
/// (https://earthquake.usgs.gov/fdsnws/event/1/, https://www.fdsn.org/webservices/).
///
/// A service returns at most about 20,000 events at once, so the stretch is cut into windows that hold fewer. The events of each
/// window are counted and imported, and the window is settled like a feed if the answer is complete. An incomplete answer shows
/// that the service gives fewer events at once than expected, so the windows become smaller. The progress is recorded after each
/// window, and an interrupted backfill continues from there.
public struct Backfill: Sendable {
    public struct Options: Sendable {
        public var service = EventService.usgs
        public var from: Instant
        /// The end of the origin times, exclusive; nil means now or, when resuming, the end of the unfinished backfill.
        public var to: Instant?
        /// Whether `from` or `to` is a length of time before now. An unfinished backfill of such a stretch is then resumed with its
        /// own times, if its stretch is about as long and shares at least half of its times.
        public var isRelative: (from: Bool, to: Bool) = (false, false)
        public var minimumMagnitude: Double?
        public var isNewestFirst = false
        /// The shortest time between two requests.
        public var pace: Duration = .seconds(1)
        public var startsOver = false

        public init(from: Instant) {
            self.from = from
        }
    }

    public struct Progress: Sendable, Equatable {
        public var events = 0
        /// How many events the service counted at the start; 0 if it does not count.
        public var expected = 0
        public var requests = 0
        /// Everything between the beginning of the backfill and this time is imported.
        public var reached: Instant
        public var counts = ImportCounts()
    }

    private let connection: Connection
    private let importer: Importer
    private let options: Options
    private let fetch: FetchOptions

    public init(
        _ connection: Connection, _ options: Options, imports: Importer.Options, logger: Logger
    ) async throws {
        self.connection = connection
        self.options = options
        fetch = imports.fetch
        importer = try await Importer(connection, options: imports, logger: logger)
    }

    private var name: String { "backfill \(service)" }

    /// The name of the service in the database and in errors: its URL, without user and password.
    private var service: String { "\(options.service.source)" }

    /// Imports the part of the stretch that has not been imported yet.
    ///
    /// - Throws: `SourceBusy` when another process is backfilling from the service; `Failure` when a backfill of another stretch
    ///   is unfinished; `UnfitService`; `ShortAnswer` when the service gives fewer events than it counts even for smaller
    ///   windows; `FeedError`, `PostgresError` or any other error that ends a run. The next call continues where this one
    ///   stopped.
    public func run(progress: (Progress) -> Void = { _ in }) async throws -> Progress {
        let lock = RunLog(connection: connection, source: options.service.source, name: name)
        try await lock.lock()
        do {
            let reached = try await importAll(progress)
            try await lock.unlock()
            return reached
        } catch {
            // Releases the lock, so that the command can be repeated at once. A failure here means that the connection is lost,
            // and the lock with it.
            do { try await lock.unlock() } catch {}
            throw error
        }
    }

    private func importAll(_ progress: (Progress) -> Void) async throws -> Progress {
        var windows = ServiceWindows(of: options.service, for: .backfill, pace: options.pace, fetch) {
            [minimumMagnitude = options.minimumMagnitude] in
            var question = EventService.Question(since: $0.lowerBound, until: $0.upperBound)
            question.minimumMagnitude = minimumMagnitude
            return question
        }
        var state = try await begin(&windows)
        progress(state.progress)
        let (expected, earlier) = (state.progress.expected, state.progress.requests)
        var plan = BackfillPlan(
            range: state.range, isNewestFirst: options.isNewestFirst, limit: options.service.limit,
            reached: state.progress.reached, expected: expected > 0 ? expected - state.progress.events : nil)
        try await windows.walk(&plan) { window, count, limit, url in
            try await importing(window, of: count, limit: limit, from: url, &state)
        } took: { _, _, given, plan, requests in
            state.progress.events += given
            state.progress.reached = plan.reached
            state.progress.requests = earlier + requests
            try await note(state)
            progress(state.progress)
        }
        try await connection.repeating(
            "update import.backfill set finished_at = clock_timestamp() where id = \(state.id)",
            to: "finish the backfill")
        return state.progress
    }

    private func importing(
        _ window: Range<Instant>, of count: Int?, limit: Int, from url: String, _ state: inout State
    ) async throws -> ServiceWindows.Given {
        let summary = try await importer.run(
            .url(url),
            window: ImportWindow(
                name: name, range: window, isPartial: options.minimumMagnitude != nil, count: count,
                limit: limit))
        state.progress.counts += summary.counts
        guard let failure = summary.failure else { return (summary.given, nil) }
        switch failure {
        case let failure as FeedError where failure.status == 204: return (0, nil)
        // A document without metadata and events is not an event document at all. Any other broken document was cut off during
        // the transfer.
        case FeedError.brokenDocument where summary.feed == nil && summary.counts.seen == 0:
            throw UnfitService(
                options.service, "its answer to query is unusable: \(failure)", asFor: .backfill)
        default: throw failure
        }
    }

    // MARK: Progress in the database

    private struct State {
        let id: Int
        let range: Range<Instant>
        var progress: Progress

        static let columns: Query = "id, window_start, window_end, reached, events, expected, requests"

        init(_ row: Row) throws {
            id = try row.decode("id")
            range = try row.decode("window_start")..<row.decode("window_end")
            progress = Progress(
                events: try row.decode("events"), expected: try row.decode("expected"),
                requests: try row.decode("requests"), reached: try row.decode("reached"))
        }
    }

    private func begin(_ windows: inout ServiceWindows) async throws -> State {
        if options.startsOver {
            try await connection.repeating(
                "delete from import.backfill where \(isUnfinished)", to: "discard the unfinished backfill")
        }
        if let state = try await unfinished() {
            guard isResumed(state.range) else {
                throw Failure(
                    .usage,
                    """
                    a backfill from \(state.range.lowerBound) to \(state.range.upperBound) is unfinished; \
                    finish it with these times, or discard it with --start-over
                    """)
            }
            return state
        }
        let range = options.from..<max(options.from, options.to ?? .now)
        let expected = range.isEmpty ? 0 : try await windows.count(range) ?? 0
        let reached = options.isNewestFirst ? range.upperBound : range.lowerBound
        let row = try await connection.repeating(
            """
            insert into import.backfill
                (service, window_start, window_end, minimum_magnitude, newest_first, reached, expected, requests)
            values (\(service), \(range.lowerBound), \(range.upperBound), \(options.minimumMagnitude),
                    \(options.isNewestFirst), \(reached), \(expected), 0)
            returning \(State.columns)
            """, to: "begin the backfill")[0]
        return try State(row)
    }

    /// Whether the options ask for the unfinished backfill of this stretch.
    private func isResumed(_ range: Range<Instant>) -> Bool {
        let (from, to) = (options.from, options.to ?? (options.isRelative.from ? .now : range.upperBound))
        guard options.isRelative.from || options.isRelative.to else { return range == from..<max(from, to) }
        let known = range.upperBound.milliseconds - range.lowerBound.milliseconds
        let asked = to.milliseconds - from.milliseconds
        let shared = min(to, range.upperBound).milliseconds - max(from, range.lowerBound).milliseconds
        return 4 * known <= 5 * asked && 4 * asked <= 5 * known && 2 * shared >= asked
            && (options.isRelative.from ? range.lowerBound <= from : range.lowerBound == from)
            && (options.isRelative.to || options.to == nil ? range.upperBound <= to : range.upperBound == to)
    }

    private var isUnfinished: Query {
        """
        service = \(service) and newest_first = \(options.isNewestFirst) and finished_at is null
        and minimum_magnitude is not distinct from \(options.minimumMagnitude)
        """
    }

    private func unfinished() async throws -> State? {
        try await connection.query(
            "select \(State.columns) from import.backfill where \(isUnfinished)",
            to: "look for an unfinished backfill"
        ).first.map(State.init)
    }

    private func note(_ state: State) async throws {
        try await connection.repeating(
            """
            update import.backfill
            set reached = \(state.progress.reached),
                events = \(state.progress.events), requests = \(state.progress.requests)
            where id = \(state.id)
            """, to: "record the backfill's progress")
    }
}
