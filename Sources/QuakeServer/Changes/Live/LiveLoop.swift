import NIOCore

/// The live clients of one event loop. Everything but `eventLoop` is for that loop only.
final class LiveLoop: Sendable {
    let eventLoop: any EventLoop
    private let changes: LiveChanges
    private let settings: ServerSettings
    private let members: NIOLoopBoundBox<Members>

    private struct Members {
        var clients: [ObjectIdentifier: LiveClient] = [:]
        var beat: RepeatedTask?
        /// Those who wait for their turn, the first one first.
        var turns = CircularBuffer<LiveClient>()
        var isTakingTurns = false
    }

    /// How long clients may take their turns before the loop looks at its sockets.
    private static let turnTime = TimeAmount.milliseconds(5)
    private static let pause = TimeAmount.milliseconds(1)

    init(_ eventLoop: any EventLoop, _ changes: LiveChanges, _ settings: ServerSettings) {
        (self.eventLoop, self.changes, self.settings) = (eventLoop, changes, settings)
        members = NIOLoopBoundBox.makeBoxSendingValue(Members(), eventLoop: eventLoop)
    }

    func insert(_ client: LiveClient) {
        members.value.clients[ObjectIdentifier(client)] = client
        changes.count { $0.live += 1 }
        guard members.value.beat == nil else { return }
        let interval = TimeAmount(settings.heartbeat / 3)
        members.value.beat = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            self.beat()
        }
    }

    func remove(_ client: LiveClient) {
        guard members.value.clients.removeValue(forKey: ObjectIdentifier(client)) != nil else { return }
        changes.count { $0.live -= 1 }
        guard members.value.clients.isEmpty else { return }
        members.value.beat?.cancel()
        members.value.beat = nil
    }

    /// Lets a client send a piece, after all others who wait for that.
    func giveTurn(to client: LiveClient) {
        members.value.turns.append(client)
        guard !members.value.isTakingTurns else { return }
        members.value.isTakingTurns = true
        eventLoop.assumeIsolated().execute { self.takeTurns() }
    }

    /// An event loop does not look at its sockets while a task is ready. So the next turns come a moment later, by when it should be
    /// done with those of others.
    private func takeTurns() {
        let end = NIODeadline.now() + Self.turnTime
        while let client = members.value.turns.popFirst() {
            client.takeTurn(changes.ring)
            guard NIODeadline.now() < end else {
                eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.takeTurns() }
                return
            }
        }
        members.value.isTakingTurns = false
    }

    /// Hands over each client, or each one with one of these filters, and the passes as they are now.
    func forEach(having filters: Set<ChangeFilter>?, _ body: (LiveClient, LiveRing) -> Void) {
        let ring = changes.ring
        for client in members.value.clients.values {
            if let filters, !client.hasFilter(of: filters) { continue }
            body(client, ring)
        }
    }

    private func beat() {
        let now = NIODeadline.now()
        for client in members.value.clients.values { client.beat(now) }
    }
}
