import NIOCore

/// The live clients of one event loop. Outside that loop, only `eventLoop` may be used.
final class LiveLoop: Sendable {
    let eventLoop: any EventLoop
    private let changes: LiveChanges
    private let settings: ServerSettings
    private let members: NIOLoopBoundBox<Members>

    private struct Members {
        var clients: [ObjectIdentifier: LiveClient] = [:]
        var beat: RepeatedTask?
        /// The clients that wait for their turn to send a piece.
        var turns = FairQueue<ClientAddress?, LiveClient>()
        var areTakingTurns = false
    }

    /// How long turns may run before the event loop serves its sockets again.
    private static var turnTime: TimeAmount { .milliseconds(5) }
    private static var pause: TimeAmount { .milliseconds(1) }

    init(_ eventLoop: any EventLoop, _ changes: LiveChanges, _ settings: ServerSettings) {
        (self.eventLoop, self.changes, self.settings) = (eventLoop, changes, settings)
        members = NIOLoopBoundBox.makeBoxSendingValue(Members(), eventLoop: eventLoop)
    }

    func insert(_ client: LiveClient) {
        members.value.clients[ObjectIdentifier(client)] = client
        changes.metrics.count { $0.liveClients += 1 }
        guard members.value.beat == nil else { return }
        let interval = TimeAmount(settings.heartbeat / 3)
        members.value.beat = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            self.beat()
        }
    }

    func remove(_ client: LiveClient) {
        guard members.value.clients.removeValue(forKey: ObjectIdentifier(client)) != nil else { return }
        changes.metrics.count { $0.liveClients -= 1 }
        guard members.value.clients.isEmpty else { return }
        members.value.beat?.cancel()
        members.value.beat = nil
    }

    /// Queues a client's turn to send a piece. Addresses take turns, so an address with many streams delays the others no more
    /// than an address with one stream.
    func giveTurn(to client: LiveClient) {
        members.value.turns.append(client, of: client.rateLimitKey)
        guard !members.value.areTakingTurns else { return }
        members.value.areTakingTurns = true
        eventLoop.assumeIsolated().execute { self.takeTurns() }
    }

    /// Runs the waiting turns for a few milliseconds. An event loop does not serve its sockets while a task is ready, so the
    /// remaining turns are scheduled for a moment later. In between, the loop serves its sockets.
    private func takeTurns() {
        let end = NIODeadline.now() + Self.turnTime
        while let client = members.value.turns.popFirst() {
            client.takeTurn(changes.ring)
            guard NIODeadline.now() < end else {
                eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.takeTurns() }
                return
            }
        }
        members.value.areTakingTurns = false
    }

    /// Calls `body` for each client, with the current passes. If `filters` is not nil, clients without one of these filters are
    /// left out.
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
