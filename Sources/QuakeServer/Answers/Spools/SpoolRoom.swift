import Glibc
import Synchronization

/// How much of all answers and streams together waits for clients, in memory and in temporary files.
///
/// When the files are full, a writer waits a moment for a file whose clients have all stopped reading, and these are dropped: a
/// file is free only when its last reader has left. If there is none, the slowest are dropped: those that would take longest to
/// read the rest. Other clients are not refused because of them.
final class SpoolRoom: Sendable {
    private let settings: ServerSettings
    private let state = Mutex(State())

    private struct State {
        var memory = 0
        var files = 0
        var dropped = 0
        var readers: [ObjectIdentifier: SpoolReader] = [:]

        /// Takes out the readers of the file whose quickest reader is the slowest, if that one is slower than this.
        mutating func takeSlowest(_ now: ContinuousClock.Instant, _ least: SpoolReader.Rest) -> [SpoolReader]
        {
            let files = Dictionary(grouping: readers.values) { $0.file }.values
            let slowest = files.map { (readers: $0, rest: $0.map { $0.rest(now) }.min() ?? .none) }
                .max { $0.rest < $1.rest }
            guard let slowest, slowest.rest > least else { return [] }
            for reader in slowest.readers { readers[ObjectIdentifier(reader)] = nil }
            dropped += slowest.readers.count
            return slowest.readers
        }
    }

    init(_ settings: ServerSettings) { self.settings = settings }

    var files: Int { state.withLock { $0.files } }
    /// How many clients have gone because they were slow.
    var dropped: Int { state.withLock { $0.dropped } }

    /// - Returns: false if there is no room for so many bytes in memory.
    func takeMemory(_ count: Int) -> Bool {
        state.withLock { state in
            guard state.memory + count <= settings.spooledMemory else { return false }
            state.memory += count
            return true
        }
    }

    func giveMemory(_ count: Int) { state.withLock { $0.memory -= count } }

    /// Makes room in files for so many bytes, and may block its thread for some seconds: only that of a connection to the
    /// database. Never under the lock of a spool: another one may have to go.
    ///
    /// - Throws: `Refusal` 503 if no client can be dropped.
    func takeFile(_ count: Int) throws {
        let begin = ContinuousClock.now
        while true {
            let now = ContinuousClock.now
            let isPatient = now - begin < Self.patience
            let slowest: [SpoolReader]? = state.withLock { state in
                guard state.files + count > settings.spooledBytes else {
                    state.files += count
                    return nil
                }
                return state.takeSlowest(now, isPatient ? .still(0) : .none)
            }
            guard let slowest else { return }
            for reader in slowest { reader.drop() }
            guard slowest.isEmpty else { continue }
            guard isPatient else { throw Refusal.unavailable("The server has no room for the answer.") }
            usleep(20_000)
        }
    }

    /// How long to wait for a file without readers.
    private static let patience = Duration.seconds(5)

    func giveFile(_ count: Int) { state.withLock { $0.files -= count } }

    // MARK: Readers

    func insert(_ reader: SpoolReader) { state.withLock { $0.readers[ObjectIdentifier(reader)] = reader } }
    func remove(_ reader: SpoolReader) { state.withLock { $0.readers[ObjectIdentifier(reader)] = nil } }

    /// Drops those who have taken too little lately of what waits for them.
    func sweep(_ now: ContinuousClock.Instant = .now) {
        let slow = state.withLock { state in
            let slow = state.readers.filter {
                !$0.value.hasProgress(now, of: settings.readSize, within: settings.readTime)
            }
            for key in slow.keys { state.readers[key] = nil }
            state.dropped += slow.count
            return slow.values
        }
        for reader in slow { reader.drop() }
    }
}

/// A client that reads what waits for it in a file, at its own pace.
final class SpoolReader: Sendable {
    /// Tells the files apart.
    let file: ObjectIdentifier
    /// Ends the reading, and gives the room back if the file has no other readers.
    let drop: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        /// The bytes that wait for it in a file.
        var unread = 0
        var taken = 0
        /// Whether the file is written to its end, and waits for this reader to the end of its last piece.
        var isWritten = false
        /// Since when something waits for it.
        var since: ContinuousClock.Instant?
        /// When it last took something.
        var moved = ContinuousClock.now
        /// When its progress was last looked at, and what it had taken by then.
        var seen: (at: ContinuousClock.Instant, taken: Int)?
    }

    init(of file: AnyObject, drop: @escaping @Sendable () -> Void) {
        (self.file, self.drop) = (ObjectIdentifier(file), drop)
    }

    /// How slow a reader is, the slowest last.
    enum Rest: Comparable {
        /// Nothing waits for it.
        case none
        /// It has only begun, and would take so many seconds for the rest.
        case begun(Double)
        /// It would take so many seconds for the rest.
        case seconds(Double)
        /// It has taken nothing for so many seconds.
        case still(Double)
    }

    /// Bytes were put into a file for it.
    func wait(_ count: Int) {
        state.withLock { state in
            if state.unread == 0 {
                (state.since, state.moved, state.taken, state.seen) = (.now, .now, 0, nil)
            }
            state.unread += count
        }
    }

    /// No more bytes will be put into the file.
    func end() { state.withLock { $0.isWritten = true } }

    func take(_ count: Int) {
        state.withLock { state in
            state.unread -= count
            state.taken += count
            state.moved = .now
        }
    }

    fileprivate func rest(_ now: ContinuousClock.Instant) -> Rest {
        state.withLock { state in
            guard state.unread > 0 || state.isWritten, let since = state.since else { return .none }
            let (time, pause) = (max((now - since) / .seconds(1), 0.001), (now - state.moved) / .seconds(1))
            if pause >= 1 { return .still(pause) }
            let rest = time * Double(state.unread) / Double(state.taken + 1)
            return time < 1 ? .begun(rest) : .seconds(rest)
        }
    }

    /// Whether it has taken enough, or all there is.
    fileprivate func hasProgress(_ now: ContinuousClock.Instant, of size: Int, within time: Duration) -> Bool
    {
        state.withLock { state in
            guard state.unread > 0 || state.isWritten, let since = state.since else { return true }
            let seen = state.seen ?? (since, 0)
            guard now - seen.at >= time else { return true }
            state.seen = (now, state.taken)
            return state.taken - seen.taken >= size
        }
    }
}
