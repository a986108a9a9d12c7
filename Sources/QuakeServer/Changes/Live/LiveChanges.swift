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
///   by all that are at the same place. A client has one piece at a time, so that memory does not grow with filters. A piece
///   lives as long as a client is at it; the newest ones are kept a moment longer.
/// - **The bound over all pieces** is `pieceSize`. Only clients that do not read keep pieces alive. Beyond the bound, the one
///   that has not moved for the longest time is dropped, and no other waits.
/// - **What is not here** comes from the database, by `CatchUps`.
final class LiveChanges: ReaderView, Sendable {
    private let settings: ServerSettings
    private let logger: Logger
    private let state = Mutex(State())
    private let counts = Mutex(Counts())
    private let pieces: LivePieces
    private let filtering = DispatchQueue(label: "quakes.filters", qos: .utility)
    /// The filters that are to be applied to a pass. Who asks may hold the lock of the state.
    private let asked = Mutex(AskedFilters())

    private struct State {
        var ring = LiveRing()
        /// Requests for a stream that are under way, whether they are live yet or not.
        var clients = 0
        /// Those of them that have a filter.
        var filters = 0
        var loops: [ObjectIdentifier: LiveLoop] = [:]
        /// The clients whose piece is not written yet: since when, and what drops them.
        var stalled: [ObjectIdentifier: (since: ContinuousClock.Instant, drop: @Sendable () -> Void)] = [:]
        var isDropping = false
        /// Those who wait for a pass, or for their filter to be applied.
        var waiting: [ObjectIdentifier: (waiter: LiveWaiter, filter: ChangeFilter?)] = [:]
    }

    private struct AskedFilters {
        var queue = FairQueue<ClientAddress?, (filter: ChangeFilter, pass: LivePass)>()
        var areBeingApplied = false
    }

    struct Counts {
        var live = 0
        var behind = 0
        var dropped = 0
        var passes = 0
        var changes = 0
    }

    init(_ settings: ServerSettings, logger: Logger) {
        (self.settings, self.logger) = (settings, logger)
        pieces = LivePieces(limit: settings.pieceSize)
    }

    var ring: LiveRing { state.withLock { $0.ring } }
    var current: Counts { counts.withLock { $0 } }
    func count(_ body: (inout Counts) -> Void) { counts.withLock { body(&$0) } }

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
        state.withLock { ($0.loops, $0.stalled) = ([:], [:]) }
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
        for (waiter, filter) in waiting {
            if let filters, !(filter.map(filters.contains) ?? false) { continue }
            waiter.news.wake()
        }
    }

    /// Waits for what may be new here, unless it is there already or the waiter's time is over.
    func wait(_ waiter: LiveWaiter, _ filter: ChangeFilter?, unless isThere: (LiveRing) -> Bool) async {
        let isWaiting = state.withLock { state in
            guard !state.ring.isEnding, !isThere(state.ring) else { return false }
            state.waiting[ObjectIdentifier(waiter)] = (waiter, filter)
            return true
        }
        if isWaiting { await waiter.news.wait() }
        state.withLock { $0.waiting[ObjectIdentifier(waiter)] = nil }
    }

    // MARK: Pieces

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

    func piece(_ form: StreamForm, _ selected: SelectedChanges?, of pass: LivePass, from line: Int)
        -> LivePiece
    {
        if pieces.isFull { dropSlowest() }
        return pieces.piece(form, selected, of: pass, from: line)
    }

    /// A client waits for its socket.
    func stalled(_ client: LiveClient, on loop: LiveLoop) {
        let bound = NIOLoopBound(client, eventLoop: loop.eventLoop)
        let drop: @Sendable () -> Void = { [self] in
            loop.eventLoop.execute {
                bound.value.drop()
                self.state.withLock { $0.isDropping = false }
            }
        }
        state.withLock { $0.stalled[ObjectIdentifier(client)] = (.now, drop) }
    }

    /// A client waits no more.
    func moved(_ client: LiveClient) {
        state.withLock { $0.stalled[ObjectIdentifier(client)] = nil }
    }

    /// One at a time: what it holds is free only when its event loop has come to it. A moment is not a reason to drop a client.
    private func dropSlowest() {
        let slowest = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isDropping, let slowest = state.stalled.min(by: { $0.value.since < $1.value.since }),
                .now - slowest.value.since >= .seconds(1)
            else { return nil }
            state.isDropping = true
            return state.stalled.removeValue(forKey: slowest.key)?.drop
        }
        slowest?()
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
        let limit = settings.passSize
        let end: Position
        if hasFilters {
            end = try await pass.forEachChange { change in
                collected.withLock { collected in
                    collected?.lines.append(change.line)
                    collected?.quakes.append(change)
                    if let size = collected?.lines.bytes.count, size > limit { collected = nil }
                }
            }
        } else {
            end = try await pass.forEachLine { line in
                collected.withLock { collected in
                    collected?.lines.append(line)
                    if let size = collected?.lines.bytes.count, size > limit { collected = nil }
                }
            }
        }
        if let (lines, taken) = collected.withLock({ $0.take() }) {
            var quakes = taken
            quakes.finish()
            let number = state.withLock { $0.ring.next }
            publish(LivePass(number, lines, hasFilters ? quakes : nil, from: start, to: end))
            count {
                $0.passes += 1
                $0.changes += lines.count
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

    func trim() { state.withLock { trim(&$0.ring) } }

    private func trim(_ ring: inout LiveRing) { ring.trim(to: settings.passSize, after: settings.passTime) }
}
