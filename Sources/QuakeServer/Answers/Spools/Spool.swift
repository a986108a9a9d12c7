import NIOCore
import NIOPosix
import QuakeStore
import Synchronization

/// Bytes between a database session that writes them and clients that read them, each as fast as it can.
///
/// They wait in memory while they are few, else in a temporary file without a name, so that the session is free as soon as
/// the database is done. Without readers, nothing can be written any more.
///
/// Disks may be slow, and so may finding room: only the session's thread and a pool's threads for files wait for that. Nothing waits
/// under the lock, which would block the few threads of all answers.
final class Spool: Sendable {
    private let room: SpoolRoom
    /// Whether everyone reads from the beginning, whenever they come. Otherwise there is one reader, and what it has read is
    /// given up: if it keeps up, all goes through memory.
    private let isShared: Bool
    private let state = Mutex(State())

    private struct State {
        /// How many bytes were written.
        var size = 0
        /// How many of them, the last ones, are in the file.
        var fileCount = 0
        var file: TemporaryFile?
        /// Those before them, unless they are given up.
        var memory = ByteBuffer()
        var end: Result<Void, any Error>?
        var readers: [Int: Place] = [:]
        var lastID = 0

        func wakeAll() { for place in readers.values { place.news.wake() } }
    }

    /// How far a reader is.
    private struct Place {
        var offset = 0
        var isPoked = false
        let slow: SpoolReader
        let abandoned: @Sendable () -> Void
        /// Comes when there may be something to read.
        let news: Signal
    }

    private static let pieceSize = 64 << 10
    private var memoryLimit: Int { isShared ? 2 * Self.pieceSize : Self.pieceSize }

    init(in room: SpoolRoom, isShared: Bool) {
        (self.room, self.isShared) = (room, isShared)
    }

    deinit {
        state.withLock { state in
            giveUp(&state)
            for place in state.readers.values { room.remove(place.slow) }
        }
    }

    private func giveUp(_ state: inout State) {
        room.giveMemory(state.memory.readableBytes)
        room.giveFile(state.fileCount)
        (state.memory, state.file, state.fileCount) = (ByteBuffer(), nil, 0)
    }

    // MARK: The writing side

    var hasWritten: Bool { state.withLock { $0.size > 0 } }

    /// Writes at the end. One thread at a time may do this.
    ///
    /// - Parameter isLast: whether no further bytes will come.
    /// - Throws: `TemporaryFileError` when the temporary file cannot be written; `Refusal` when there is no room for it;
    ///   `CancellationError` when it has no readers left.
    func append(_ bytes: [UInt8], isLast: Bool = false) throws {
        let isInMemory = try state.withLock { state in
            try checkIsRead(state)
            dropReadFile(&state)
            let inMemory = state.memory.readableBytes
            guard state.fileCount == 0, inMemory == 0 || inMemory + bytes.count <= memoryLimit,
                room.takeMemory(bytes.count)
            else { return false }
            state.memory.writeBytes(bytes)
            state.size += bytes.count
            if isLast { state.end = .success(()) }
            return true
        }
        if !isInMemory { try appendToFile(bytes) }
        if isLast { finish() } else { state.withLock { $0.wakeAll() } }
    }

    /// Gives the disk back while a long answer is still coming, if all that is in the file was read.
    private func dropReadFile(_ state: inout State) {
        guard !isShared, state.readers.values.allSatisfy({ $0.offset == state.size }) else { return }
        room.giveFile(state.fileCount)
        (state.file, state.fileCount) = (nil, 0)
    }

    private func appendToFile(_ bytes: [UInt8]) throws {
        try room.takeFile(bytes.count)
        do {
            let (known, end) = state.withLock { ($0.file, $0.fileCount) }
            let file = try known ?? TemporaryFile()
            try bytes.withUnsafeBytes { try file.write($0, at: end) }
            try state.withLock { state in
                try checkIsRead(state)
                if state.file == nil {
                    state.file = file
                    for place in state.readers.values { room.insert(place.slow) }
                }
                state.size += bytes.count
                state.fileCount += bytes.count
                for place in state.readers.values { place.slow.wait(bytes.count) }
            }
        } catch {
            room.giveFile(bytes.count)
            throw error
        }
    }

    private func checkIsRead(_ state: borrowing State) throws {
        guard state.end == nil, !state.readers.isEmpty else { throw CancellationError() }
    }

    /// No further bytes will come. An error is thrown to the readers behind those that are there.
    func finish(_ error: (any Error)? = nil) {
        state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            if isShared { for place in state.readers.values { place.slow.end() } }
            state.wakeAll()
        }
    }

    // MARK: The reading side

    /// One client that reads. It has to leave.
    struct Reader: Sendable {
        fileprivate let spool: Spool
        fileprivate let id: Int
        fileprivate let news = Signal()

        /// The next bytes; nil at the end; none when it was poked. If the spool is shared, whole pieces as they were written,
        /// at the end of what there is.
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

        /// It reads no more.
        func leave() { spool.leave(id) }
    }

    /// Adds a reader from the beginning.
    ///
    /// - Parameters:
    ///   - closing: closes the connection of a client that has to go because it is slow.
    ///   - abandoned: told if the client was the last one to leave.
    /// - Returns: nil if the writing side failed or all readers have left.
    func reader(
        closing: @escaping @Sendable () -> Void, abandoned: @escaping @Sendable () -> Void = {}
    ) -> Reader? {
        state.withLock { state in
            if case .failure? = state.end { return nil }
            state.lastID += 1
            let reader = Reader(spool: self, id: state.lastID)
            let slow = SpoolReader(of: self) { [weak self, id = reader.id] in
                self?.leave(id)
                closing()
            }
            state.readers[reader.id] = Place(slow: slow, abandoned: abandoned, news: reader.news)
            if state.file != nil {
                room.insert(slow)
                slow.wait(state.fileCount)
            }
            if state.end != nil { slow.end() }
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
            let fileStart = state.size - state.fileCount
            if place.offset < fileStart {
                state.readers[id]?.offset = fileStart
                return .bytes(takeMemory(fileStart - place.offset, &state))
            }
            if place.offset < state.size, let file = state.file {
                let start = place.offset - fileStart
                let range = start..<min(start + Self.pieceSize, state.fileCount)
                state.readers[id]?.offset += range.count
                place.slow.take(range.count)
                return .part(file, range)
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

    /// The last bytes in memory: all of them, if there is one reader.
    private func takeMemory(_ count: Int, _ state: inout State) -> ByteBuffer {
        guard isShared else {
            defer { state.memory = ByteBuffer() }
            room.giveMemory(count)
            return state.memory
        }
        return state.memory.getSlice(at: state.memory.writerIndex - count, length: count) ?? ByteBuffer()
    }

    private func leave(_ id: Int) {
        let abandoned = state.withLock { state -> (@Sendable () -> Void)? in
            guard let place = state.readers.removeValue(forKey: id) else { return nil }
            room.remove(place.slow)
            place.news.wake()
            guard state.readers.isEmpty else { return nil }
            giveUp(&state)
            state.end = .failure(CancellationError())
            return place.abandoned
        }
        abandoned?()
    }
}
