import Feed
import NIOCore
import NIOPosix
import QuakeStore
import Synchronization

/// A buffer between a database session that writes bytes and clients that read them, each at its own speed.
///
/// The last piece is in memory. Earlier pieces are in temporary files without names while a reader may still need them. So the
/// session is free as soon as the database has sent all rows, even if readers are slow. A file is dropped when all readers have
/// read it, unless the spool is short enough to be kept for later readers. Once all readers have left, writing fails.
///
/// No code waits for the disk or for the quota while it holds the lock, because that would block the few threads that send all
/// answers.
final class Spool: Sendable {
    private let quota: SpoolQuota
    /// How many bytes are kept for readers that join later, and read from the beginning.
    private let keptForOthers: Int
    private let state = Mutex(State())

    private struct State {
        /// The bytes before `lastStart` that some reader may still need, in order.
        var files: [(file: TemporaryFile, range: Range<Int>)] = []
        /// Whether the spool still has its beginning, so that readers can join.
        var isWhole = true
        var lastStart = 0
        var last = ByteBuffer()
        var end: Result<Void, any Error>?
        var readers: [Int: Place] = [:]
        var newestID = 0
        /// When a reader last took bytes, or had none left to take.
        var lastTaken = ContinuousClock.now

        /// How many bytes were written.
        var size: Int { lastStart + last.readableBytes }

        func checkIsRead() throws {
            guard end == nil, !readers.isEmpty else { throw CancellationError() }
        }

        func wakeAll() { for place in readers.values { place.news.wake() } }
    }

    /// A reader's position, the closures that it was added with, and the signal that wakes it.
    private struct Place {
        var offset = 0
        var isPoked = false
        let closing: @Sendable () -> Void
        let abandoned: @Sendable () -> Void
        /// Wakes the reader when there may be something to read.
        let news: Signal
    }

    private static let pieceSize = 64 << 10
    private static let fileSize = 16 << 20

    /// - Parameter keptForOthers: how many bytes are kept for readers that join later. A spool with one reader keeps none.
    init(in quota: SpoolQuota, keptForOthers: Int = 0) {
        (self.quota, self.keptForOthers) = (quota, keptForOthers)
    }

    // MARK: The writing side

    var hasWritten: Bool { state.withLock { $0.size > 0 } }

    /// Appends bytes. Only one thread at a time may call this.
    ///
    /// - Parameter isLast: whether these are the last bytes of the spool.
    /// - Throws: `Failure` when the temporary file cannot be written; `Refusal` when the quota has no room for more
    ///   bytes; `CancellationError` when the spool has no readers left or has ended.
    func append(_ bytes: [UInt8], isLast: Bool = false) throws {
        guard !bytes.isEmpty else { return isLast ? finish() : () }
        let unread = try state.withLock { state in
            try state.checkIsRead()
            if state.readers.values.contains(where: { $0.offset == state.size }) { state.lastTaken = .now }
            let isKept = state.isWhole && state.size <= keptForOthers
            if !isKept { dropRead(&state) }
            guard isKept || state.readers.values.contains(where: { $0.offset < state.size }) else {
                state.isWhole = false
                return nil as (piece: ByteBuffer, file: TemporaryFile?, offset: Int)?
            }
            let latest = state.files.last.flatMap { $0.range.count < Self.fileSize ? $0 : nil }
            return (state.last, latest?.file, latest?.range.count ?? 0)
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
                if let file {
                    let start = state.lastStart - (unread?.offset ?? 0)
                    if unread?.file != nil { state.files.removeLast() }
                    state.files.append((file, start..<state.size))
                }
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

    /// Drops the files that all readers have read.
    private func dropRead(_ state: inout State) {
        let least = state.readers.values.map(\.offset).min() ?? .max
        while let first = state.files.first, first.range.upperBound <= least {
            quota.give(first.range.count, of: self)
            state.files.removeFirst()
            state.isWhole = false
        }
    }

    /// Ends the spool, so that nothing more can be appended. Readers get the bytes that were written, and then the error if any.
    func finish(_ error: (any Error)? = nil) {
        state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            state.wakeAll()
        }
    }

    // MARK: Slow clients

    /// The time since a reader last took bytes. nil if there are no readers, or if a reader has taken all bytes so far and waits
    /// for the database.
    func standstill(_ now: ContinuousClock.Instant) -> Duration? {
        state.withLock { state in
            let isWaitedFor = state.end == nil && state.readers.values.contains { $0.offset == state.size }
            return state.readers.isEmpty || isWaitedFor ? nil : now - state.lastTaken
        }
    }

    /// Disconnects all clients that read this spool.
    ///
    /// - Returns: the number of disconnected clients.
    func drop() -> Int {
        let readers = state.withLock { $0.readers }
        for (id, place) in readers {
            leave(id)
            place.closing()
        }
        return readers.count
    }

    // MARK: The reading side

    /// A client that reads the spool. Call `leave()` when the client is done.
    struct Reader: Sendable {
        fileprivate let spool: Spool
        fileprivate let id: Int
        fileprivate let news = Signal()

        /// The next bytes; nil at the end; empty after a call of `poke()`.
        ///
        /// - Throws: the error with which the writing side ended; `Failure` when the temporary file cannot be read;
        ///   `CancellationError` when the task is cancelled or the reader has left.
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

        /// Whether the reader has taken all bytes, and the writing side ended without an error.
        var isAtEnd: Bool {
            spool.state.withLock { state in
                guard case .success? = state.end else { return false }
                return state.readers[id]?.offset == state.size
            }
        }

        /// Ends the wait in `next()`, which then returns empty bytes.
        func poke() {
            spool.state.withLock { state in
                state.readers[id]?.isPoked = true
                state.readers[id]?.news.wake()
            }
        }

        func leave() { spool.leave(id) }
    }

    /// Adds a reader that starts at the beginning.
    ///
    /// - Parameters:
    ///   - closing: closes the client's connection; called if the client is too slow.
    ///   - abandoned: called if this reader is the last one to leave.
    /// - Returns: nil if the writing side failed, if the spool has dropped its beginning, or if all earlier readers have left.
    func reader(
        closing: @escaping @Sendable () -> Void, abandoned: @escaping @Sendable () -> Void = {}
    ) -> Reader? {
        state.withLock { state in
            if case .failure? = state.end { return nil }
            guard state.isWhole else { return nil }
            state.newestID += 1
            let reader = Reader(spool: self, id: state.newestID)
            state.readers[reader.id] = Place(closing: closing, abandoned: abandoned, news: reader.news)
            return reader
        }
    }

    private enum Taken {
        case bytes(ByteBuffer)
        case part(TemporaryFile, Range<Int>)
        /// No further bytes were written yet.
        case nothing
        case end
    }

    private func take(_ id: Int) throws -> Taken {
        try state.withLock { state in
            guard let place = state.readers[id] else { throw CancellationError() }
            let size = state.size
            if place.offset < size { state.lastTaken = .now }
            if let (file, range) = state.files.first(where: { $0.range.contains(place.offset) }) {
                let start = place.offset - range.lowerBound
                let part = start..<min(start + Self.pieceSize, range.count)
                state.readers[id]?.offset += part.count
                return .part(file, part)
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
            dropRead(&state)
            (state.lastStart, state.last) = (state.size, ByteBuffer())
            state.end = .failure(CancellationError())
            return place.abandoned
        }
        abandoned?()
    }
}
