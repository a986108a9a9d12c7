import NIOCore
import NIOPosix
import QuakeStore
import Synchronization

/// Bytes between a database session that writes them and clients that read them, each as fast as it can.
///
/// The last piece is in memory. Those before it wait in a temporary file without a name, unless all readers have them, so the
/// session is free as soon as the database is done. Without readers, nothing can be written any more.
///
/// Nothing waits for the disk or for room under the lock: that would block the few threads of all answers.
final class Spool: Sendable {
    private let quota: SpoolQuota
    /// Whether everyone reads from the beginning, whenever they come. Otherwise there is one reader, and what it has read is
    /// given up.
    private let isShared: Bool
    private let state = Mutex(State())

    private struct State {
        /// Has the bytes from `fileStart` to `lastStart`; nil if there are none.
        var file: TemporaryFile?
        var fileStart = 0
        var lastStart = 0
        var last = ByteBuffer()
        var end: Result<Void, any Error>?
        var readers: [Int: Place] = [:]
        var newestID = 0
        /// When a reader last took something, or had everything.
        var lastTaken = ContinuousClock.now

        /// How many bytes were written.
        var size: Int { lastStart + last.readableBytes }

        func checkIsRead() throws {
            guard end == nil, !readers.isEmpty else { throw CancellationError() }
        }

        func wakeAll() { for place in readers.values { place.news.wake() } }
    }

    /// How far a reader is.
    private struct Place {
        var offset = 0
        var isPoked = false
        let closing: @Sendable () -> Void
        let abandoned: @Sendable () -> Void
        /// Comes when there may be something to read.
        let news: Signal
    }

    private static let pieceSize = 64 << 10

    init(in quota: SpoolQuota, isShared: Bool) {
        (self.quota, self.isShared) = (quota, isShared)
    }

    // MARK: The writing side

    var hasWritten: Bool { state.withLock { $0.size > 0 } }

    /// Writes at the end. One thread at a time may do this.
    ///
    /// - Parameter isLast: whether no further bytes will come.
    /// - Throws: `TemporaryFileError` when the temporary file cannot be written; `Refusal` when there is no room for it;
    ///   `CancellationError` when it has no readers left.
    func append(_ bytes: [UInt8], isLast: Bool = false) throws {
        guard !bytes.isEmpty else { return isLast ? finish() : () }
        let unread = try state.withLock { state in
            try state.checkIsRead()
            if state.readers.values.contains(where: { $0.offset == state.size }) { state.lastTaken = .now }
            guard isShared || state.readers.values.contains(where: { $0.offset < state.size }) else {
                giveUpFile(&state)
                state.fileStart = state.size
                return nil as (piece: ByteBuffer, file: TemporaryFile?, offset: Int)?
            }
            return (state.last, state.file, state.lastStart - state.fileStart)
        }
        let waiting = unread?.piece.readableBytes ?? 0
        try quota.take(waiting, for: self)
        do {
            var file: TemporaryFile?
            if let unread, waiting > 0 {
                let known = try unread.file ?? TemporaryFile()
                try unread.piece.withUnsafeReadableBytes { try known.write($0, at: unread.offset) }
                file = known
            }
            try state.withLock { state in
                try state.checkIsRead()
                if let file { state.file = file }
                state.lastStart = state.size
                state.last = ByteBuffer(bytes: bytes)
                if isLast { state.end = .success(()) }
                state.wakeAll()
            }
        } catch {
            quota.give(waiting, of: self)
            throw error
        }
    }

    private func giveUpFile(_ state: inout State) {
        quota.give(state.lastStart - state.fileStart, of: self)
        state.file = nil
    }

    /// No further bytes will come. An error is thrown to the readers behind those that are there.
    func finish(_ error: (any Error)? = nil) {
        state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            state.wakeAll()
        }
    }

    // MARK: Slow clients

    /// How long no reader has taken anything; nil if one of them has everything and waits for the database.
    func standstill(_ now: ContinuousClock.Instant) -> Duration? {
        state.withLock { state in
            let isWaitedFor = state.end == nil && state.readers.values.contains { $0.offset == state.size }
            return state.readers.isEmpty || isWaitedFor ? nil : now - state.lastTaken
        }
    }

    /// Disconnects all clients that read it.
    ///
    /// - Returns: how many there were.
    func drop() -> Int {
        let readers = state.withLock { $0.readers }
        for (id, place) in readers {
            leave(id)
            place.closing()
        }
        return readers.count
    }

    // MARK: The reading side

    /// One client that reads. It has to leave.
    struct Reader: Sendable {
        fileprivate let spool: Spool
        fileprivate let id: Int
        fileprivate let news = Signal()

        /// The next bytes; nil at the end; none when it was poked.
        ///
        /// - Throws: what the writing side failed with; `TemporaryFileError` when the temporary file cannot be read;
        ///   `CancellationError`, also when it has left.
        func next() async throws -> ByteBuffer? {
            while true {
                try Task.checkCancellation()
                switch try spool.take(id) {
                case .bytes(let bytes): return bytes
                case .part(let file, let range):
                    return try await NIOThreadPool.singleton.runIfActive {
                        ByteBuffer(bytes: try file.read(range))
                    }
                case .end: return nil
                case .nothing: await news.wait()
                }
            }
        }

        /// Whether it has read all, and nothing went wrong.
        var isAtEnd: Bool {
            spool.state.withLock { state in
                guard case .success? = state.end else { return false }
                return state.readers[id]?.offset == state.size
            }
        }

        /// Wakes it if it waits.
        func poke() {
            spool.state.withLock { state in
                state.readers[id]?.isPoked = true
                state.readers[id]?.news.wake()
            }
        }

        func leave() { spool.leave(id) }
    }

    /// Adds a reader from the beginning.
    ///
    /// - Parameters:
    ///   - closing: closes the connection of a client that has to go because it is slow.
    ///   - abandoned: called if the client was the last one to leave.
    /// - Returns: nil if the writing side failed or all readers have left.
    func reader(
        closing: @escaping @Sendable () -> Void, abandoned: @escaping @Sendable () -> Void = {}
    ) -> Reader? {
        state.withLock { state in
            if case .failure? = state.end { return nil }
            state.newestID += 1
            let reader = Reader(spool: self, id: state.newestID)
            state.readers[reader.id] = Place(closing: closing, abandoned: abandoned, news: reader.news)
            return reader
        }
    }

    private enum Taken {
        case bytes(ByteBuffer)
        case part(TemporaryFile, Range<Int>)
        /// There are none yet.
        case nothing
        case end
    }

    private func take(_ id: Int) throws -> Taken {
        try state.withLock { state in
            guard let place = state.readers[id] else { throw CancellationError() }
            let size = state.size
            if place.offset < size { state.lastTaken = .now }
            if place.offset < state.lastStart, let file = state.file {
                let start = place.offset - state.fileStart
                let range = start..<min(start + Self.pieceSize, state.lastStart - state.fileStart)
                state.readers[id]?.offset += range.count
                return .part(file, range)
            }
            if place.offset < size {
                state.readers[id]?.offset = size
                return .bytes(state.last)
            }
            switch state.end {
            case .success?: return .end
            case .failure(let error)?: throw error
            case nil: break
            }
            guard place.isPoked else { return .nothing }
            state.readers[id]?.isPoked = false
            return .bytes(ByteBuffer())
        }
    }

    private func leave(_ id: Int) {
        let abandoned = state.withLock { state -> (@Sendable () -> Void)? in
            guard let place = state.readers.removeValue(forKey: id) else { return nil }
            place.news.wake()
            guard state.readers.isEmpty else { return nil }
            giveUpFile(&state)
            (state.lastStart, state.last) = (state.size, ByteBuffer())
            state.fileStart = state.lastStart
            state.end = .failure(CancellationError())
            return place.abandoned
        }
        abandoned?()
    }
}
