import Feed
import Logging
import PostgreSQL
import QuakeStore
import Synchronization

/// A pass that is read from the database once, for all clients that need it. Each client receives it at its own pace. The reading
/// stops when the last client has left.
final class CatchUp: ReaderView {
    let start: ChangesRequest.Start
    let form: StreamForm
    /// The epoch of the live passes when this catch-up began.
    let epoch: Int
    let spool: Spool
    private let namesAuthors: Bool
    private let ended: @Sendable (CatchUp) -> Void
    private let state = Mutex(State())

    private struct State {
        /// The position after which the pass begins; nil for the starts `snapshot` and `now`.
        var position: Position?
        var reached: (position: Position, signature: String)?
        var reading: Task<Void, Never>?
    }

    private static let pieceSize = 64 << 10

    /// - Parameters:
    ///   - namesAuthors: whether the changes have their author and their context.
    ///   - ended: called when the catch-up has no readers left.
    init(
        _ start: ChangesRequest.Start, _ form: StreamForm, namesAuthors: Bool, epoch: Int,
        in quota: SpoolQuota, ended: @escaping @Sendable (CatchUp) -> Void
    ) {
        (self.start, self.form, self.epoch, self.ended) = (start, form, epoch, ended)
        self.namesAuthors = namesAuthors
        spool = Spool(in: quota, keptForOthers: 64 << 20)
    }

    func begin(_ read: @escaping @Sendable (CatchUp) async -> Void) {
        let task = Task { await read(self) }
        state.withLock { $0.reading = task }
    }

    /// Adds a reader that starts at the beginning.
    ///
    /// - Parameters:
    ///   - ring: the live passes, in which the reader continues after this pass.
    ///   - closing: closes the client's connection; called if the client is too slow.
    /// - Returns: nil if the live passes do not continue from the end of this pass, or if the catch-up has failed or has no
    ///   readers left.
    func reader(leadingTo ring: LiveRing, closing: @escaping @Sendable () -> Void) -> Spool.Reader? {
        if let (position, signature) = reached,
            ring.place(after: position, of: signature, epoch: epoch) == nil
        {
            return nil
        }
        return spool.reader(closing: closing) { [weak self] in
            guard let self else { return }
            ended(self)
            state.withLock { $0.reading }?.cancel()
        }
    }

    /// The position at the end of the pass, and the table's signature during the pass; nil until the whole pass was read.
    var reached: (position: Position, signature: String)? { state.withLock { $0.reached } }

    /// Reads the pass, unless it has more changes than `most`.
    ///
    /// - Parameter limit: how long each statement of the pass may take.
    /// - Returns: false if nothing was read, because the pass has more than `most` changes.
    /// - Throws: `StandbyBehind` if `patience` is nil and the database is a hot standby that is behind the client's position.
    func read(
        over connection: Connection, upTo most: Int?, limit: Duration, patience: Duration?, logger: Logger
    ) async throws -> Bool {
        let position: Position? =
            switch start {
            case .snapshot, .now: nil
            case .token(let token): try await .known(by: token, on: connection)
            case .position(let position, _): position
            }
        if let most, let position, try await position.isFarBehind(most, of: signature, on: connection) {
            return false
        }
        state.withLock { $0.position = position }
        // Writing to the spool may wait for the quota or for the disk. So the pass is read on the connection's thread, where such
        // a wait blocks no other work.
        _ = try await connection.run { connection in
            try await applyPass(over: connection, limit: limit, patience: patience, logger: logger)
        }
        return true
    }

    // MARK: ReaderView

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
                let line: JSONObject = ["snapshot": "\(reason)"]
                bytes.withLock { form.append(.snapshot, line.jsonText.utf8, to: &$0) }
            }
            let kind: StreamForm.Kind = pass.freshStart == nil ? .change : .row
            reached = try await pass.forEachLineWithEarthquake(
                of: form.filter?.selection, namesAuthors: namesAuthors
            ) { line in
                let piece: [UInt8] = bytes.withLock { bytes in
                    form.append(kind, line, to: &bytes)
                    guard bytes.count >= Self.pieceSize else { return [] }
                    defer { bytes = [] }
                    return bytes
                }
                if !piece.isEmpty { try spool.append(piece) }
            }
        }
        bytes.withLock { form.append(reached, to: &$0) }
        try spool.append(bytes.withLock { $0 })
        state.withLock { $0.reached = (reached, pass.table.signature) }
        return reached
    }
}
