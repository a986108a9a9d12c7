import Dispatch
import Logging
import NIOCore
import QuakeStore
import Synchronization

/// What is new, for all clients that are connected: the process reads each pass once, and all who ask the same get the same
/// bytes.
///
/// ## Who owns what
/// - **A pass** is kept here once, as lines, for a while: up to `passSize` bytes of all passes, the newest one last. A client
///   is a place in them. If it takes so long that its place is gone, it is dropped, and can resume from its last position.
/// - **A filter** is applied to a pass once, on a separate queue, to values that the pass carries; client addresses take turns.
///   What is kept of it are two bits for each change, with the pass. Clients without a filter do not wait for it.
/// - **A piece** is what is written at once, some 32 KiB in one form. It is made when the first client needs it, and shared
///   by all that are at the same place. A client has one piece at a time, so that memory does not grow with filters.
/// - **What is not here** comes from the database, by `CatchUps`.
final class LiveChanges: ReaderView, Sendable {
    private let settings: ServerSettings
    let metrics: Metrics
    private let logger: Logger
    private let state = Mutex(State())
    let pieces = LivePieces()
    private let filtering = DispatchQueue(label: "quakes.filters", qos: .utility)
    /// The filters that are to be applied to a pass. Who asks may hold the lock of the state.
    private let asked = Mutex(AskedFilters())

    private struct State {
        var ring = LiveRing()
        /// Requests for a stream that are under way, whether they are live yet or not.
        var clients = 0
        var filters = 0
        var loops: [ObjectIdentifier: LiveLoop] = [:]
        /// Those who wait for a pass, or for their filter to be applied.
        var waiting: [Int: (news: Signal, filter: ChangeFilter?)] = [:]
        var newestID = 0
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

    /// Counts a client, until `leave`.
    ///
    /// - Throws: `Refusal` 503 if there is no room.
    func enter(_ form: StreamForm) throws {
        try state.withLock { state in
            guard !state.ring.isEnding else { throw Refusal.unavailable("The server is ending.") }
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

    /// Lets every client come to the end of a pass, and no further.
    func end() {
        state.withLock { $0.ring.isEnding = true }
        wake { $0.goOn($1) }
    }

    /// Lets go of all that holds on to this: the server has ended.
    func close() {
        state.withLock { $0.loops = [:] }
        pieces.forget()
    }

    /// Hands over each client on its event loop, and wakes the waiting ones.
    ///
    /// - Parameter filters: only those who have one of these; nil for all.
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

    /// Waits for what may be new here, unless it is there already.
    ///
    /// - Parameter news: wakes the waiting one, also from elsewhere.
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

    /// What a filter selects of a pass. If that is not known yet, the clients with this filter are told soon. One address has
    /// as many filters applied as it may have streams.
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

    /// Applies the filters that are asked for. Their clients are woken every now and then, because going through all clients
    /// for each filter would take longer than the filters.
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

    /// The table may be altered while the connection is lost.
    func accepts(_ table: TableShape) -> Bool {
        ring.signature.map { $0 == table.signature } ?? true
    }

    func apply(_ pass: Pass) async throws -> Position {
        let (hasClients, hasFilters) = state.withLock { state in
            // Nothing is sent that would then be given up: new clients read from the history meanwhile.
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
                if let size = collected?.lines.bytes.count, size > settings.passSize { collected = nil }
            }
        }
        let end =
            hasFilters
            ? try await pass.forEachChange { collect($0.line, $0) }
            : try await pass.forEachLineWithEarthquake(of: nil) { collect($0) }
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

    /// Continues elsewhere. Followers read the part in between from the history.
    private func skip(to position: Position, _ signature: String) {
        let hasClients = state.withLock { state in
            state.ring.clear()
            state.ring.position = position
            state.ring.signature = signature
            guard state.clients > 0 else { return false }
            state.ring.epoch += 1
            return true
        }
        pieces.forget()
        if hasClients { wake { $0.restart($1) } }
    }

    /// Whether the clients have been told that the database is away.
    var isAway: Bool { state.withLock { $0.isAway } }

    /// The database has answered.
    func trim() {
        state.withLock { state in
            state.isAway = false
            trim(&state.ring)
        }
    }

    /// Tells the clients once that the database is away.
    func tellOfOutage() {
        let isFirst = state.withLock { state in
            defer { state.isAway = true }
            return !state.isAway
        }
        if isFirst { wake { client, _ in client.tellOfOutage() } }
    }

    private func trim(_ ring: inout LiveRing) { ring.trim(to: settings.passSize, after: settings.passTime) }
}
