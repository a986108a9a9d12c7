import NIOCore
import QuakeStore
import Synchronization

/// What somebody gets who reads bytes that others write.
enum Taken {
    case bytes(ByteBuffer)
    /// There are none yet.
    case nothing
    case end
}

/// Bytes between a database session that writes them and a client that reads them, each as fast as it can.
///
/// A client that keeps up gets them through memory. Of a slow one, what does not fit into memory waits in a temporary file
/// without a name, so that the session is free as soon as the database is done.
final class AnswerSpool: Sendable {
    private static let memoryLimit = 64 << 10
    private let room: SpoolRoom
    private let state = Mutex(State())

    private struct State {
        /// The oldest bytes.
        var memory = ByteBuffer()
        var file: TemporaryFile?
        /// The bytes of the file that were not yet read. They follow those in memory.
        var unread = 0..<0
        var end: Result<Void, any Error>?
        var reader: CheckedContinuation<Void, Never>?
        /// The client, as the room knows it; nil before the first byte is in a file.
        var slow: SpoolReader?
    }

    private static let pieceSize = 64 << 10
    private let closing: @Sendable () -> Void

    /// - Parameter closing: closes the connection of a client that has to go because it is slow.
    init(in room: SpoolRoom, closing: @escaping @Sendable () -> Void = {}) {
        (self.room, self.closing) = (room, closing)
    }

    deinit {
        state.withLock { state in
            room.giveMemory(state.memory.readableBytes)
            room.giveFile(state.unread.upperBound)
            if let slow = state.slow { room.remove(slow) }
        }
    }

    // MARK: The writing side

    /// - Parameter isLast: whether no further bytes will come.
    /// - Throws: `TemporaryFileError` when the temporary file cannot be written; `Refusal` when there is no room for it;
    ///   `CancellationError` when nobody reads any more.
    func append(_ bytes: [UInt8], isLast: Bool = false) throws {
        let isInMemory = try state.withLock { state in
            guard state.end == nil else { throw CancellationError() }
            let inMemory = state.memory.readableBytes
            guard state.unread.isEmpty, inMemory == 0 || inMemory + bytes.count <= Self.memoryLimit,
                room.takeMemory(bytes.count)
            else { return false }
            state.memory.writeBytes(bytes)
            return true
        }
        if !isInMemory { try appendToFile(bytes) }
        let reader = state.withLock { state in
            if isLast, state.end == nil { state.end = .success(()) }
            return state.reader.take()
        }
        reader?.resume()
    }

    /// No further bytes will come. An error is thrown to the reader behind those that are there.
    func finish(_ error: (any Error)? = nil) {
        let reader = state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Gives the room back, because the client is too slow.
    private func drop() {
        let reader = state.withLock { state in
            room.giveMemory(state.memory.readableBytes)
            room.giveFile(state.unread.upperBound)
            (state.memory, state.file, state.unread) = (ByteBuffer(), nil, 0..<0)
            state.end = .failure(CancellationError())
            return state.reader.take()
        }
        reader?.resume()
        closing()
    }

    // MARK: The reading side

    /// The next bytes; nil at the end. One reader at a time.
    ///
    /// - Throws: what the writing side failed with; `TemporaryFileError` when the temporary file cannot be read;
    ///   `CancellationError`.
    func next() async throws -> ByteBuffer? {
        while true {
            try Task.checkCancellation()
            switch try state.withLock({ try take(from: &$0) }) {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case .nothing: await waitForBytes()
            }
        }
    }

    /// Whether all was read, and nothing went wrong.
    var isAtEnd: Bool {
        state.withLock { state in
            guard case .success? = state.end else { return false }
            return state.memory.readableBytes == 0 && state.unread.isEmpty
        }
    }

    private func take(from state: inout State) throws -> Taken {
        if state.memory.readableBytes > 0 {
            defer { state.memory = ByteBuffer() }
            room.giveMemory(state.memory.readableBytes)
            return .bytes(state.memory)
        }
        if !state.unread.isEmpty { return .bytes(try readFile(of: &state)) }
        switch state.end {
        case nil: return .nothing
        case .success?: return .end
        case .failure(let error)?: throw error
        }
    }

    private func waitForBytes() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    let isReady =
                        state.memory.readableBytes > 0 || !state.unread.isEmpty || state.end != nil
                        || Task.isCancelled
                    if !isReady { state.reader = continuation }
                    return isReady
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.reader.take() }?.resume()
        }
    }

    // MARK: The file

    private func appendToFile(_ bytes: [UInt8]) throws {
        try room.takeFile(bytes.count)
        do {
            try state.withLock { state in
                guard state.end == nil else { throw CancellationError() }
                let file = try state.file ?? TemporaryFile()
                state.file = file
                try bytes.withUnsafeBytes { try file.write($0, at: state.unread.upperBound) }
                state.unread = state.unread.lowerBound..<state.unread.upperBound + bytes.count
                let slow = state.slow ?? SpoolReader(of: self) { [weak self] in self?.drop() }
                if state.slow == nil { room.insert(slow) }
                state.slow = slow
                slow.wait(bytes.count)
            }
        } catch {
            room.giveFile(bytes.count)
            throw error
        }
    }

    private func readFile(of state: inout State) throws -> ByteBuffer {
        let piece = state.unread.prefix(Self.pieceSize)
        let bytes = ByteBuffer(bytes: try state.file?.read(piece) ?? [])
        state.unread = piece.upperBound..<state.unread.upperBound
        state.slow?.take(piece.count)
        // Gives the disk back while a long answer is still coming.
        if state.unread.isEmpty {
            state.file?.clear()
            room.giveFile(state.unread.upperBound)
            state.unread = 0..<0
        }
        return bytes
    }
}
