import Logging
import NIOCore
import PostgreSQL
import QuakeStore
import Synchronization

/// A pass that was read from the database for clients who need it, and waits for all of them, in memory if it is small, else
/// in a temporary file. It ends when the last of them has gone.
final class CatchUp: View {
    let start: ChangesRequest.Start
    let form: StreamForm
    /// That of the live passes when it was begun.
    let epoch: Int
    private let room: SpoolRoom
    private let ended: @Sendable (CatchUp) -> Void
    private let state = Mutex(State())

    private struct State {
        /// Where the pass begins; nil for all rows.
        var position: Position?
        var reached: (position: Position, signature: String)?
        /// The first bytes; the rest is in the file.
        var memory: [UInt8] = []
        var file: TemporaryFile?
        var size = 0
        var end: Result<Void, any Error>?
        var readers: [Int: Place] = [:]
        var lastID = 0
        var reading: Task<Void, Never>?

        mutating func takeContinuations() -> [CheckedContinuation<Void, Never>] {
            readers.keys.compactMap { readers[$0]?.continuation.take() }
        }
    }

    /// How far a reader is.
    private struct Place {
        var offset = 0
        var continuation: CheckedContinuation<Void, Never>?
        var isPoked = false
        let slow: SpoolReader
    }

    private static let pieceSize = 64 << 10

    /// - Parameter ended: told when nobody reads it any more.
    init(
        _ start: ChangesRequest.Start, _ form: StreamForm, epoch: Int, in room: SpoolRoom,
        ended: @escaping @Sendable (CatchUp) -> Void
    ) {
        (self.start, self.form, self.epoch, self.room, self.ended) = (start, form, epoch, room, ended)
    }

    deinit {
        state.withLock { state in
            room.giveMemory(state.memory.count)
            room.giveFile(state.size - state.memory.count)
        }
    }

    func begin(_ read: @escaping @Sendable (CatchUp) async -> Void) {
        let task = Task { await read(self) }
        state.withLock { $0.reading = task }
    }

    // MARK: The writing side

    var hasWritten: Bool { state.withLock { $0.size > 0 } }
    /// The position at the end of the pass, and the table's signature in it; nil as long as it has none.
    var reached: (position: Position, signature: String)? { state.withLock { $0.reached } }

    /// Reads the pass, unless it is longer than this.
    ///
    /// - Returns: false if it is longer.
    /// - Throws: `StandbyBehind`, according to `whenBehind`.
    func read(
        over connection: Connection, upTo limit: Int?, whenBehind: WhenBehind, logger: Logger
    ) async throws -> Bool {
        let position: Position? =
            switch start {
            case .snapshot, .now: nil
            case .token(let token): try await .known(by: token, on: connection)
            case .position(let position, _): position
            }
        if let limit, let position, try await position.isFarBehind(limit, of: signature, on: connection) {
            return false
        }
        state.withLock { $0.position = position }
        try await applyPass(over: connection, whenBehind: whenBehind, logger: logger)
        return true
    }

    func position() -> Position? { state.withLock { $0.position } }

    func accepts(_ table: TableShape) -> Bool { signature.map { $0 == table.signature } ?? true }

    private var signature: String? {
        if case .position(_, let signature) = start { signature } else { nil }
    }

    func apply(_ pass: Pass) async throws -> Position {
        let bytes = Mutex<[UInt8]>([])
        let reached: Position
        if case .now = start {
            reached = try await pass.skip()
        } else {
            if let reason = pass.freshStart {
                bytes.withLock { form.append(snapshot: "\(reason)", to: &$0) }
            }
            let kind: StreamForm.Kind = pass.freshStart == nil ? .change : .row
            reached = try await pass.forEachLine(of: form.filter?.selection) { line in
                let piece: [UInt8] = bytes.withLock { bytes in
                    form.append(kind, line, to: &bytes)
                    guard bytes.count >= Self.pieceSize else { return [] }
                    defer { bytes = [] }
                    return bytes
                }
                try append(piece)
            }
        }
        bytes.withLock { form.append(reached, to: &$0) }
        try append(bytes.withLock { $0 })
        state.withLock { $0.reached = (reached, pass.table.signature) }
        return reached
    }

    private func append(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        let isInMemory = try state.withLock { state in
            guard !state.readers.isEmpty else { throw CancellationError() }
            guard state.file == nil, state.size + bytes.count <= 2 * Self.pieceSize,
                room.takeMemory(bytes.count)
            else { return false }
            state.memory += bytes
            state.size += bytes.count
            return true
        }
        if !isInMemory { try appendToFile(bytes) }
        for continuation in state.withLock({ $0.takeContinuations() }) { continuation.resume() }
    }

    private func appendToFile(_ bytes: [UInt8]) throws {
        try room.takeFile(bytes.count)
        do {
            try state.withLock { state in
                guard !state.readers.isEmpty else { throw CancellationError() }
                let file = try state.file ?? TemporaryFile()
                state.file = file
                try bytes.withUnsafeBytes { try file.write($0, at: state.size - state.memory.count) }
                state.size += bytes.count
                for place in state.readers.values { place.slow.wait(bytes.count) }
            }
        } catch {
            room.giveFile(bytes.count)
            throw error
        }
    }

    /// No further bytes will come. An error is thrown to the readers behind those that are there.
    func finish(_ error: (any Error)? = nil) {
        let waiting = state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            for place in state.readers.values { place.slow.end() }
            return state.takeContinuations()
        }
        for continuation in waiting { continuation.resume() }
    }

    // MARK: Readers

    /// One client of it. It has to leave.
    struct Reader: Sendable {
        let catchUp: CatchUp
        fileprivate let id: Int

        /// The next bytes, whole lines at the end of what there is; nil at the end; none when it was poked.
        ///
        /// - Throws: what the writing side failed with; `TemporaryFileError`; `CancellationError` when it has left.
        func next() async throws -> ByteBuffer? {
            while true {
                try Task.checkCancellation()
                switch try catchUp.take(id) {
                case .bytes(let bytes): return bytes
                case .end: return nil
                case .nothing: await catchUp.wait(id)
                }
            }
        }

        /// Wakes it if it waits.
        func poke() { catchUp.poke(id) }

        /// It reads no more.
        func leave() { catchUp.leave(id) }
    }

    /// Lets somebody read from the beginning.
    ///
    /// - Parameters:
    ///   - ring: what the reader goes on with from the end; nil for the one for whom the pass is begun.
    ///   - closing: closes the connection of a client that has to go because it is slow.
    /// - Returns: nil if nobody can go on from its end any more, or it was given up.
    func reader(leadingTo ring: LiveRing?, closing: @escaping @Sendable () -> Void) -> Reader? {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let slow = SpoolReader(of: self) { [weak self] in
            self?.leave(id)
            closing()
        }
        return state.withLock { state in
            if let ring, !leads(to: ring, state) { return nil }
            state.readers[id] = Place(slow: slow)
            if state.file != nil { slow.wait(state.size - state.memory.count) }
            if state.end != nil { slow.end() }
            room.insert(slow)
            return Reader(catchUp: self, id: id)
        }
    }

    private func leads(to ring: LiveRing, _ state: borrowing State) -> Bool {
        switch state.end {
        case nil: return true
        case .failure?: return false
        case .success?:
            guard let (position, signature) = state.reached else { return false }
            return ring.place(after: position, of: signature, epoch: epoch) != nil
        }
    }

    private func take(_ id: Int) throws -> Taken {
        var part: (file: TemporaryFile, range: Range<Int>)?
        let taken = try state.withLock { state -> Taken in
            guard let place = state.readers[id] else { throw CancellationError() }
            if place.offset < state.memory.count {
                state.readers[id]?.offset = state.memory.count
                return .bytes(ByteBuffer(bytes: state.memory[place.offset...]))
            }
            if place.offset < state.size, let file = state.file {
                let start = place.offset - state.memory.count
                let range = start..<min(start + Self.pieceSize, state.size - state.memory.count)
                part = (file, range)
                state.readers[id]?.offset += range.count
                place.slow.take(range.count)
                return .nothing
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
        // A disk may take its time: not under the lock.
        return try part.map { .bytes(ByteBuffer(bytes: try $0.file.read($0.range))) } ?? taken
    }

    private func wait(_ id: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard let place = state.readers[id], !Task.isCancelled else { return true }
                    let isReady = place.offset < state.size || state.end != nil || place.isPoked
                    if !isReady { state.readers[id]?.continuation = continuation }
                    return isReady
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.readers[id]?.continuation.take() }?.resume()
        }
    }

    private func poke(_ id: Int) {
        let continuation = state.withLock { state in
            state.readers[id]?.isPoked = true
            return state.readers[id]?.continuation.take()
        }
        continuation?.resume()
    }

    private func leave(_ id: Int) {
        let (place, reading) = state.withLock { state -> (Place?, Task<Void, Never>?) in
            guard let place = state.readers.removeValue(forKey: id) else { return (nil, nil) }
            room.remove(place.slow)
            guard state.readers.isEmpty else { return (place, nil) }
            room.giveMemory(state.memory.count)
            room.giveFile(state.size - state.memory.count)
            (state.memory, state.file, state.size) = ([], nil, 0)
            state.end = .failure(CancellationError())
            return (place, state.reading)
        }
        place?.continuation?.resume()
        guard let reading else { return }
        ended(self)
        reading.cancel()
    }
}
