import Dispatch
import Feed
import Logging
import NIOCore
import QuakeStore
import Synchronization

/// New changes for all connected clients. The process reads each pass once, and clients with the same form get the same bytes.
///
/// ## Who owns what
/// - **A pass** is kept here once, as lines. The newest pass is always kept. Older passes are kept for up to `passTime`, and take
///   up to `passSize` bytes in total. Each client has a place in the passes. A client is disconnected if it is so slow that the
///   pass at its place is no longer kept. The client can reconnect, and continue from its last position.
/// - **A filter** is applied to a pass once, on a separate queue in which client addresses take turns. The pass contains the
///   values that filters need, and keeps the result of each filter as two bits for each change. Clients without a filter do not
///   wait while filters are applied.
/// - **A piece** is a part of a pass in one form, about 32 KiB, that is written at once. It is made when the first client needs
///   it, and shared by all clients at the same place. A client holds one piece at a time, so that memory does not grow with the
///   number of filters.
/// - **Changes that are not kept here** are read from the database by `CatchUps`.
final class LiveChanges: ReaderView, Sendable {
    private let settings: ServerSettings
    let metrics: Metrics
    private let logger: Logger
    private let state = Mutex(State())
    let pieces = LivePieces()
    private let filtering = DispatchQueue(label: "quakes.filters", qos: .utility)
    /// The filters that wait to be applied. They have a separate lock, because a caller may hold the lock of `state`.
    private let asked = Mutex(AskedFilters())

    private struct State {
        var ring = LiveRing()
        /// The number of streams and long polls under way, including those that are not live yet.
        var clients = 0
        var filters = 0
        var loops: [ObjectIdentifier: LiveLoop] = [:]
        /// Long polls that wait for a pass, or for their filter to be applied.
        var waiting: [Int: (news: Signal, filter: ChangeFilter?)] = [:]
        var newestID = 0
        /// The number of times that the database became unreachable.
        var outages = 0
        var isAway = false
    }

    private struct AskedFilters {
        var queue = FairQueue<ClientAddress?, (filter: ChangeFilter, pass: LivePass)>()
        var areBeingApplied = false
    }

    init(_ settings: ServerSettings, _ metrics: Metrics, logger: Logger) {
        (self.settings, self.metrics, self.logger) = (settings, metrics, logger)
    }

    var ring: LiveRing { state.withLock { $0.ring } }

    // MARK: Clients

    /// Counts a client until `leave` is called.
    ///
    /// - Throws: `Refusal` 503 if the server is shutting down, or if too many clients follow the changes.
    func enter(_ form: StreamForm) throws {
        try state.withLock { state in
            guard !state.ring.isEnding else { throw Refusal.unavailable("The server is shutting down.") }
            guard state.clients < settings.streams else {
                throw Refusal.unavailable("Too many clients follow the changes.")
            }
            state.clients += 1
            if form.filter != nil { state.filters += 1 }
        }
    }

    func leave(_ form: StreamForm) {
        state.withLock { state in
            state.clients -= 1
            if form.filter != nil { state.filters -= 1 }
        }
    }

    func loop(_ loop: any EventLoop) -> LiveLoop {
        state.withLock { state in
            if let known = state.loops[ObjectIdentifier(loop)] { return known }
            let new = LiveLoop(loop, self, settings)
            state.loops[ObjectIdentifier(loop)] = new
            return new
        }
    }

    /// Ends all streams. A client that has received a part of a pass still receives the rest.
    func end() {
        state.withLock { $0.ring.isEnding = true }
        wake { $0.goOn($1) }
    }

    /// Drops the `LiveLoop`s, which refer back to this object, and the kept pieces. Called after the server has ended.
    func close() {
        state.withLock { $0.loops = [:] }
        pieces.forget()
    }

    /// Calls `body` for each live client on its event loop, and wakes waiting polls.
    ///
    /// - Parameter filters: the filters of the clients and polls to call or wake; nil for all clients and polls.
    private func wake(
        having filters: Set<ChangeFilter>? = nil, _ body: @escaping @Sendable (LiveClient, LiveRing) -> Void
    ) {
        let (loops, waiting) = state.withLock { (Array($0.loops.values), Array($0.waiting.values)) }
        for loop in loops { loop.eventLoop.execute { loop.forEach(having: filters, body) } }
        for (news, filter) in waiting {
            if let filters, !(filter.map(filters.contains) ?? false) { continue }
            news.wake()
        }
    }

    /// Waits until there may be a new pass, or a new result of the filter. Returns at once if `isThere` returns true for the
    /// current passes, or if the server is shutting down.
    ///
    /// - Parameter news: the signal that ends the wait. Other code, such as a timer, can wake it, too.
    func wait(_ news: Signal, _ filter: ChangeFilter?, unless isThere: (LiveRing) -> Bool) async {
        let id = state.withLock { state -> Int? in
            guard !state.ring.isEnding, !isThere(state.ring) else { return nil }
            state.newestID += 1
            state.waiting[state.newestID] = (news, filter)
            return state.newestID
        }
        guard let id else { return }
        await news.wait()
        state.withLock { $0.waiting[id] = nil }
    }

    // MARK: Filters

    /// The changes of a pass that a filter selects. If these changes are not known yet, the filter is applied in the background,
    /// and then the clients with this filter are woken. For each pass, an address may request as many filters as it may have
    /// streams.
    func selected(
        by filter: ChangeFilter, of pass: LivePass, for rateLimitKey: ClientAddress?
    ) -> LivePass.Selected {
        pass.selected(by: filter, for: rateLimitKey, limit: settings.perAddress) {
            let isFirst = asked.withLock { asked in
                asked.queue.append((filter, pass), of: rateLimitKey)
                defer { asked.areBeingApplied = true }
                return !asked.areBeingApplied
            }
            if isFirst { filtering.async { self.applyFilters() } }
        }
    }

    /// Applies the waiting filters. Clients are woken at most every 50 ms, because visiting all clients after each filter would
    /// take longer than applying the filters.
    private func applyFilters() {
        var applied: Set<ChangeFilter> = []
        var woken = ContinuousClock.now
        while let (filter, pass) = asked.withLock({ asked in
            let next = asked.queue.popFirst()
            asked.areBeingApplied = next != nil
            return next
        }) {
            pass.apply(filter)
            applied.insert(filter)
            guard .now - woken >= .milliseconds(50) else { continue }
            wake(having: applied) { $0.goOn($1) }
            (applied, woken) = ([], .now)
        }
        wake(having: applied) { $0.goOn($1) }
    }

    // MARK: The follower

    func position() -> Position? { state.withLock { $0.ring.position } }

    /// Whether the table still has the shape of the kept passes. The table may have been altered while the connection was lost.
    func accepts(_ table: TableShape) -> Bool {
        ring.signature.map { $0 == table.signature } ?? true
    }

    func apply(_ pass: Pass) async throws -> Position {
        let (hasClients, hasFilters) = state.withLock { state in
            // While no clients are connected, no passes are kept. A client that connects meanwhile reads from the history.
            if state.clients == 0 { state.ring.clear() }
            return (state.clients > 0, state.filters > 0)
        }
        guard pass.freshStart == nil, let start = position(), hasClients else {
            let position = try await pass.skip()
            if let reason = pass.freshStart, reason != .first {
                logger.notice("\(reason); the clients that follow the changes start over")
            }
            skip(to: position, pass.table.signature)
            return position
        }
        let collected = Mutex<(lines: ChangeLines, quakes: ChangedQuakes)?>((ChangeLines(), ChangedQuakes()))
        @Sendable func collect(_ line: UnsafeRawBufferPointer, _ change: PassChange? = nil) {
            collected.withLock { collected in
                collected?.lines.append(line)
                if let change { collected?.quakes.append(change) }
                let size = collected.map { $0.lines.bytes.count + $0.quakes.size } ?? 0
                if size > settings.passSize { collected = nil }
            }
        }
        let end =
            hasFilters
            ? try await pass.forEachChange(namesAuthors: settings.namesAuthors) { collect($0.line, $0) }
            : try await pass.forEachLineWithEarthquake(of: nil, namesAuthors: settings.namesAuthors) {
                collect($0)
            }
        if let (lines, taken) = collected.withLock({ $0.take() }) {
            var quakes = taken
            quakes.finish()
            let number = state.withLock { $0.ring.next }
            publish(LivePass(number, lines, hasFilters ? quakes : nil, from: start, to: end))
            metrics.count {
                $0.livePasses += 1
                $0.liveChanges += lines.count
            }
        } else {
            logger.notice("a pass is too large to keep; the clients read it from the history")
            skip(to: end, pass.table.signature)
        }
        return end
    }

    private func publish(_ pass: LivePass) {
        state.withLock { state in
            state.ring.passes.append(pass)
            state.ring.position = pass.end
            trim(&state.ring)
        }
        pieces.forget()
        wake { $0.goOn($1) }
    }

    /// Sets the follower's position to `position`, and drops the kept passes. Clients read the skipped changes from the history.
    private func skip(to position: Position, _ signature: String) {
        state.withLock { state in
            state.ring.clear()
            state.ring.position = position
            state.ring.signature = signature
            state.ring.epoch += 1
        }
        pieces.forget()
        wake { $0.restart($1) }
    }

    /// The number of the current outage of the database; nil while the database answers.
    var outage: Int? { state.withLock { $0.isAway ? $0.outages : nil } }

    /// Notes that the database has answered, and drops old passes.
    func trim() {
        state.withLock { state in
            state.isAway = false
            trim(&state.ring)
        }
    }

    /// Sends the clients the message that the database is unreachable, once for each outage.
    func tellOfOutage() {
        let new = state.withLock { state -> Int? in
            guard !state.isAway else { return nil }
            state.isAway = true
            state.outages += 1
            return state.outages
        }
        if let new { wake { client, _ in client.tell(of: new) } }
    }

    private func trim(_ ring: inout LiveRing) { ring.trim(to: settings.passSize, after: settings.passTime) }
}
