import NIOCore

/// Runs work on an event loop, round-robin by group, and in order within a group. Use it on its event loop only.
final class FairScheduler<Group: Hashable, Taker>: Sendable {
    private let eventLoop: any EventLoop
    private let take: @Sendable (Taker) -> Void
    private let waiting: NIOLoopBoundBox<Waiting>

    private struct Waiting {
        var areTakingTurns = false
        var takers = FairQueue<Group, Taker>()
    }

    /// How long turns may run before the event loop serves its sockets again.
    private static var time: TimeAmount { .milliseconds(5) }
    private static var pause: TimeAmount { .milliseconds(1) }

    init(_ eventLoop: any EventLoop, _ take: @escaping @Sendable (Taker) -> Void) {
        (self.eventLoop, self.take) = (eventLoop, take)
        waiting = NIOLoopBoundBox.makeBoxSendingValue(Waiting(), eventLoop: eventLoop)
    }

    /// Queues a turn behind all other turns of the same group.
    func append(_ taker: Taker, of group: Group) {
        waiting.value.takers.append(taker, of: group)
        guard !waiting.value.areTakingTurns else { return }
        waiting.value.areTakingTurns = true
        eventLoop.assumeIsolated().execute { self.takeTurns() }
    }

    /// Runs the waiting turns for a few milliseconds. An event loop does not serve its sockets while a task is ready, so the
    /// remaining turns are scheduled for a moment later. In between, the loop serves its sockets.
    private func takeTurns() {
        let end = NIODeadline.now() + Self.time
        while let taker = waiting.value.takers.popFirst() {
            take(taker)
            guard NIODeadline.now() < end else {
                eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.takeTurns() }
                return
            }
        }
        waiting.value.areTakingTurns = false
    }
}
