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
    }

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

    /// Sends each client what it can take.
    func pump() {
        let ring = changes.ring
        for client in members.value.clients.values { client.pump(ring) }
    }

    /// Sends each client with one of these filters what it can take.
    func pump(_ filters: Set<ChangeFilter>) {
        let ring = changes.ring
        for client in members.value.clients.values where client.hasFilter(of: filters) { client.pump(ring) }
    }

    /// Sends each client to the history.
    func restart() {
        let ring = changes.ring
        for client in members.value.clients.values { client.restart(ring) }
    }

    private func beat() {
        let now = NIODeadline.now()
        for client in members.value.clients.values { client.beat(now) }
    }
}
