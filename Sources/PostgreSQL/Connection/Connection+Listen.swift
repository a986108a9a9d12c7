import CPostgreSQL
import Glibc

/// The notifications of a channel (https://www.postgresql.org/docs/current/sql-notify.html).
public struct Notifications: Sendable {
    let connection: Connection
    let alarm: Alarm

    /// Waits for the next notification, and returns its payload; nil if none arrived within `limit`.
    ///
    /// A silently lost connection is not noticed: if the network drops all packets, the database only seems quiet. So run a small
    /// statement now and then, within `Connection.expectingAnswer`.
    public func next(within limit: Duration) async throws -> String? {
        try await connection.nextNotification(within: limit, alarm)
    }
}

extension Connection {
    /// Listens on a channel while `body` runs.
    ///
    /// Notifications are a hint, not a record: those sent without a listener are lost, identical ones in one transaction arrive
    /// once, and the server's queue is limited. While the connection runs a statement or has an open transaction, it receives no
    /// notifications and the queue fills up: `body` may run statements, but not for hours.
    ///
    /// - Parameter channel: a plain lower-case SQL name.
    /// - Throws: any error of `body`, or `PostgresError`; a hot standby refuses LISTEN.
    nonisolated public func listen<Result>(
        to channel: String, _ body: (Notifications) async throws -> Result
    ) async throws -> Result {
        try await execute(script: "listen \(channel)", to: "listen to \(channel)")
        do {
            let result = try await body(Notifications(connection: self, alarm: try Alarm()))
            try await stopListening(to: channel)
            return result
        } catch {
            // The first error says more than a second error from the same connection.
            do { try await stopListening(to: channel) } catch {}
            throw error
        }
    }

    private func stopListening(to channel: String) throws {
        guard handle != nil else { return }
        try shieldingFromCancellation {
            try execute(script: "unlisten \(channel)", to: "stop listening to \(channel)")
        }
    }

    fileprivate func nextNotification(within limit: Duration, _ alarm: Alarm) async throws -> String? {
        // The closure runs on this actor, so waiting does not switch threads.
        try await withTaskCancellationHandler {
            try waitForNotification(within: limit, alarm)
        } onCancel: {
            alarm.ring()
        }
    }

    private func waitForNotification(within limit: Duration, _ alarm: Alarm) throws -> String? {
        let operation = "wait for a notification"
        let handle = try open(operation)
        let end = ContinuousClock.now + limit
        while true {
            // Reads before the first wait, too: the TLS layer may hold data that polling the socket no longer reports.
            guard PQconsumeInput(handle) == 1 else { throw failureOfLibpq(operation, handle) }
            if let pointer = PQnotifies(handle) {
                defer { PQfreemem(pointer) }
                return String(cString: pointer.pointee.extra)
            }
            try Task.checkCancellation()
            let left = end - .now
            guard left > .zero else { return nil }
            alarm.wait(for: PQsocket(handle), atMost: left)
        }
    }
}

/// Lets any thread end the wait for a socket, so that a long wait needs no polling.
final class Alarm: Sendable {
    private let descriptor: Int32

    init() throws {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else {
            throw PostgresError(operation: "listen", message: String(cString: strerror(errno)))
        }
    }

    deinit {
        close(descriptor)
    }

    func ring() { eventfd_write(descriptor, 1) }

    func wait(for socket: Int32, atMost limit: Duration) {
        var descriptors = [socket, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        // The clock of `poll` may stop, for example while the machine sleeps. The limit of a minute bounds the delay that this
        // causes.
        let milliseconds = min(limit / .milliseconds(1), 60_000).rounded(.up)
        poll(&descriptors, 2, Int32(milliseconds))
        var rings: eventfd_t = 0
        if descriptors[1].revents != 0 { eventfd_read(descriptor, &rings) }
    }
}
