import Feed
import Logging
import PostgreSQL
import QuakeStore
import Synchronization

/// A pass that is read from the database for the clients that need it, and waits for all of them. It ends when the last of them
/// has left.
final class CatchUp: ReaderView {
    let start: ChangesRequest.Start
    let form: StreamForm
    /// That of the live passes when it was begun.
    let epoch: Int
    let spool: Spool
    private let ended: @Sendable (CatchUp) -> Void
    private let state = Mutex(State())

    private struct State {
        /// Where the pass begins; nil for all rows.
        var position: Position?
        var reached: (position: Position, signature: String)?
        var reading: Task<Void, Never>?
    }

    private static let pieceSize = 64 << 10

    /// - Parameter ended: called when it has no readers left.
    init(
        _ start: ChangesRequest.Start, _ form: StreamForm, epoch: Int, in quota: SpoolQuota,
        ended: @escaping @Sendable (CatchUp) -> Void
    ) {
        (self.start, self.form, self.epoch, self.ended) = (start, form, epoch, ended)
        spool = Spool(in: quota, isShared: true)
    }

    func begin(_ read: @escaping @Sendable (CatchUp) async -> Void) {
        let task = Task { await read(self) }
        state.withLock { $0.reading = task }
    }

    /// Adds a reader from the beginning.
    ///
    /// - Parameters:
    ///   - ring: where the reader continues at the end.
    ///   - closing: closes the connection of a client that has to go because it is slow.
    /// - Returns: nil if no reader can continue from its end, or it was given up.
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

    /// The position at the end of the pass, and the table's signature in it; nil as long as it has none.
    var reached: (position: Position, signature: String)? { state.withLock { $0.reached } }

    /// Reads the pass, unless it is longer than this.
    ///
    /// - Returns: false if it is longer.
    /// - Throws: `StandbyBehind` without patience.
    func read(
        over connection: Connection, upTo limit: Int?, patience: Duration?, logger: Logger
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
        // What it writes may wait for room, or for the disk: on the connection's thread, where nothing else waits with it.
        _ = try await connection.run { connection in
            try await applyPass(over: connection, patience: patience, logger: logger)
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
            reached = try await pass.forEachLineWithEarthquake(of: form.filter?.selection) { line in
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
