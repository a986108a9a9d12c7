import Logging
import PostgreSQL
import QuakeStore
import Synchronization

/// Reads missed changes from the database, once for all clients that have missed the same changes.
///
/// Short reads and long reads use different lanes, so a client that was away for a moment never waits for a snapshot or a long
/// stretch of the history.
final class CatchUps: Sendable {
    private let live: LiveChanges
    private let quota: SpoolQuota
    private let sessions: Sessions
    private let settings: ServerSettings
    private let logger: Logger
    private let current = Mutex<[Key: CatchUp]>([:])

    private struct Key: Hashable {
        let start: ChangesRequest.Start
        let form: StreamForm
    }

    init(
        _ live: LiveChanges, _ quota: SpoolQuota, _ sessions: Sessions, _ settings: ServerSettings,
        logger: Logger
    ) {
        (self.live, self.quota, self.sessions) = (live, quota, sessions)
        self.settings = settings
        // Messages below the level `warning` concern a single client, so they are not logged.
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        self.logger = quiet
    }

    /// Adds a client that reads the pass from `start`. If the same pass was already begun for other clients, and the live passes
    /// still continue from its end, the client joins it.
    ///
    /// - Parameters:
    ///   - rateLimitKey: the address whose limits the pass counts against.
    ///   - closing: closes the client's connection; called if the client is too slow.
    func reader(
        _ start: ChangesRequest.Start, _ form: StreamForm, for rateLimitKey: ClientAddress?,
        closing: @escaping @Sendable () -> Void
    ) throws -> (CatchUp, Spool.Reader) {
        let key = Key(start: start, form: form)
        let ring = live.ring
        return try current.withLock { current in
            // `now` is a different moment for each client.
            if start != .now, let known = current[key],
                let reader = known.reader(leadingTo: ring, closing: closing)
            {
                return (known, reader)
            }
            let new = CatchUp(
                start, form, namesAuthors: settings.namesAuthors, epoch: ring.epoch, in: quota
            ) { [weak self] ended in
                self?.current.withLock { if $0[key] === ended { $0[key] = nil } }
            }
            current[key] = new
            guard let reader = new.reader(leadingTo: ring, closing: closing) else {
                throw CancellationError()
            }
            new.begin { [self] in await read($0, for: rateLimitKey) }
            return (new, reader)
        }
    }

    private func read(_ catchUp: CatchUp, for rateLimitKey: ClientAddress?) async {
        do {
            // A client that has followed another server may be ahead of the hot standby that this server reads. While the client
            // waits for the standby, it holds no session.
            let end = ContinuousClock.now + settings.behindTime
            while true {
                let isEarly = ContinuousClock.now < end
                do {
                    // A snapshot always uses the costly lane. For any other start, a session of the short lane first checks
                    // whether there are only a few changes to read. If so, it reads them.
                    var isRead = false
                    if catchUp.start != .snapshot, isEarly {
                        do {
                            isRead = try await read(catchUp, .short, patience: nil, for: rateLimitKey)
                        } catch let error as PostgresError
                            where error.isCancelledStatement && !catchUp.spool.hasWritten
                        {}
                    }
                    if !isRead {
                        _ = try await read(
                            catchUp, .costly, patience: isEarly ? nil : .zero, for: rateLimitKey)
                    }
                    return catchUp.spool.finish()
                } catch is StandbyBehind {
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
        } catch {
            if catchUp.spool.hasWritten, !(error is CancellationError) {
                logger.error("a stream of changes broke off: \(error)")
            }
            catchUp.spool.finish(error)
        }
    }

    /// - Returns: false if the pass is too long for the short lane, and was not read.
    /// - Throws: `StandbyBehind` if `patience` is nil and the database is a hot standby that is behind the client's position;
    ///   `PostgresError` when a statement takes longer than the lane allows.
    private func read(
        _ catchUp: CatchUp, _ lane: Lane, patience: Duration?, for rateLimitKey: ClientAddress?
    ) async throws -> Bool {
        try await sessions.useAnother(
            lane, for: rateLimitKey, isPatient: true, unless: catchUp.spool.hasWritten
        ) { connection in
            try await catchUp.read(
                over: connection, upTo: lane == .short ? settings.longStretch : nil,
                limit: lane == .short ? settings.shortTime : settings.costlyTime, patience: patience,
                logger: logger)
        }
    }
}
