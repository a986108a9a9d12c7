import Logging
import NIOCore
import QuakeStore
import Synchronization

/// What is new, for all clients that are connected: the process reads each pass once, and every client gets its bytes.
///
/// The newest passes are kept for a while. A client is a place in them: it gets the next bytes as soon as it has taken those
/// before, and if it takes so long that its place is gone, it is dropped. It can resume from its last position.
final class LiveChanges: View, Sendable {
    private let settings: ServerSettings
    private let logger: Logger
    private let state = Mutex(State())
    private let counts = Mutex(Counts())
    /// For those who read from the history. They leave a session to the requests, and wait for each other: after a restart,
    /// all clients come back at once.
    let turns: Turns

    private struct State {
        var ring = Ring()
        /// Requests for a stream that are under way, whether they are live yet or not.
        var clients = 0
        var loops: [ObjectIdentifier: LiveLoop] = [:]
    }

    /// The passes that are kept, without gaps.
    struct Ring {
        /// Counts the passes since the server started. The first pass that is kept has this number.
        var first = 0
        var passes: [LivePass] = []
        /// The follower's position: the end of the last pass. nil before the first one.
        var position: Position?
        /// The signature of the table in these passes; nil before the first one.
        var signature: String?
        /// Changes whenever the passes do not follow on those before.
        var epoch = 0
        var isEnding = false

        var next: Int { first + passes.count }

        /// Where somebody goes on who has come this far; nil if that is not known here.
        ///
        /// - Parameters:
        ///   - signature: the table's, when they got what they have.
        ///   - epoch: that in which the position was read from the database; nil if somebody else names it.
        func place(after position: Position, of signature: String?, epoch: Int?) -> LivePlace? {
            if let epoch {
                guard epoch == self.epoch else { return nil }
                guard let start = passes.first?.start ?? self.position else {
                    return LivePlace(next: next, reached: position, signature: signature)
                }
                guard start.token <= position.token else { return nil }
            } else {
                guard signature == self.signature else { return nil }
                guard position == self.position || passes.contains(where: { $0.start == position }) else {
                    return nil
                }
            }
            let index = passes.firstIndex { $0.end.token > position.token } ?? passes.count
            return LivePlace(next: first + index, reached: position, signature: signature)
        }
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
        turns = Turns(max(1, settings.sessions - 1))
    }

    var ring: Ring { state.withLock { $0.ring } }
    var current: Counts { counts.withLock { $0 } }
    func count(_ body: (inout Counts) -> Void) { counts.withLock { body(&$0) } }

    // MARK: Clients

    /// Counts a client, until `leave`.
    ///
    /// - Throws: `Reply` 503 if there is no room.
    func enter() throws {
        try state.withLock { state in
            guard !state.ring.isEnding else { throw Reply.unavailable("The server is ending.") }
            guard state.clients < settings.streams else {
                throw Reply.unavailable("Too many clients follow the changes.")
            }
            state.clients += 1
        }
    }

    func leave() { state.withLock { $0.clients -= 1 } }

    /// The clients of an event loop.
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
        wake { $0.pump() }
    }

    private func wake(_ body: @escaping @Sendable (LiveLoop) -> Void) {
        for loop in state.withLock({ Array($0.loops.values) }) { loop.eventLoop.execute { body(loop) } }
    }

    // MARK: The follower

    func position() -> Position? { state.withLock { $0.ring.position } }

    /// The table may be altered while the connection is lost.
    func accepts(_ table: TableShape) -> Bool {
        let known = ring.signature
        return known == nil || known == table.signature
    }

    func apply(_ pass: Pass) async throws -> Position {
        guard pass.freshStart == nil, let start = position(), state.withLock({ $0.clients > 0 }) else {
            let position = try await pass.skip()
            if let reason = pass.freshStart, reason != .first {
                logger.notice("\(reason); the clients that follow the changes start anew")
            }
            skip(to: position, pass.table.signature)
            return position
        }
        let limit = settings.passSize
        let collected = Mutex<ChangeLines?>(ChangeLines())
        let end = try await pass.forEachLine { line in
            collected.withLock { lines in
                lines?.append(line)
                if let size = lines?.bytes.count, size > limit { lines = nil }
            }
        }
        if let lines = collected.withLock({ $0 }) {
            publish(LivePass(lines, from: start, to: end))
            count {
                $0.passes += 1
                $0.changes += lines.count
            }
        } else {
            logger.notice("a pass is too large to be kept; the clients read it from the history")
            skip(to: end, pass.table.signature)
        }
        return end
    }

    private func publish(_ pass: LivePass) {
        state.withLock { state in
            state.ring.passes.last?.grewOld()
            state.ring.passes.append(pass)
            state.ring.position = pass.end
            trim(&state.ring)
        }
        wake { $0.pump() }
    }

    /// Goes on elsewhere. Whoever is following reads from the history what is in between.
    private func skip(to position: Position, _ signature: String) {
        let hasClients = state.withLock { state in
            state.ring.first = state.ring.next
            state.ring.passes = []
            state.ring.position = position
            state.ring.signature = signature
            guard state.clients > 0 else { return false }
            state.ring.epoch += 1
            return true
        }
        if hasClients { wake { $0.restart() } }
    }

    /// Drops what is old or too much. The newest pass stays.
    func trim() { state.withLock { trim(&$0.ring) } }

    private func trim(_ ring: inout Ring) {
        var size = ring.passes.reduce(0) { $0 + $1.size }
        let now = ContinuousClock.now
        var count = 0
        for pass in ring.passes.dropLast()
        where size > settings.passSize || ring.passes.count - count > 1000
            || now - pass.madeAt > settings.passTime
        {
            size -= pass.size
            count += 1
        }
        ring.passes.removeFirst(count)
        ring.first += count
    }
}

/// A place between two passes.
struct LivePlace {
    /// The number of the next pass to send.
    var next: Int
    /// What the client has got, which may be within the next pass.
    var reached: Position
    /// The table's signature when the client got what it has.
    let signature: String?
}
