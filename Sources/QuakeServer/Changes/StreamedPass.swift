import Logging
import PostgreSQL
import QuakeStore
import Synchronization

/// A pass for one client, written to its spool.
final class StreamedPass: View {
    let spool: AnswerSpool
    private let start: Start
    private let form: StreamForm
    /// Whether the stream begins with it.
    private let isFirst: Bool
    private let state = Mutex(State())

    private struct State {
        /// Where the pass begins; nil for all rows.
        var position: Position?
        var hasWritten = false
        var reached: (position: Position, signature: String)?
    }

    enum Start: Sendable {
        case snapshot
        case now
        case token(Int)
        /// The changes since a position, or all rows if the table's signature is no longer this one; nil if it is not known.
        case position(Position, of: String?)

        init(_ start: ChangesRequest.Start) {
            self =
                switch start {
                case .snapshot: .snapshot
                case .now: .now
                case .token(let token): .token(token)
                case .position(let position): .position(position, of: nil)
                }
        }
    }

    private static let pieceSize = 64 << 10

    init(start: Start, form: StreamForm, isFirst: Bool, spool: AnswerSpool) {
        (self.start, self.form, self.isFirst, self.spool) = (start, form, isFirst, spool)
    }

    var hasWritten: Bool { state.withLock { $0.hasWritten } }
    /// The position at the end of the pass, and the table's signature in it; nil as long as it has none.
    var reached: (position: Position, signature: String)? { state.withLock { $0.reached } }

    func read(over connection: Connection, logger: Logger) async throws {
        let position: Position? =
            switch start {
            case .snapshot, .now: nil
            case .token(let token): try await .known(by: token, on: connection)
            case .position(let position, _): position
            }
        state.withLock { $0.position = position }
        try await applyPass(over: connection, logger: logger)
    }

    func position() -> Position? { state.withLock { $0.position } }

    func accepts(_ table: TableShape) -> Bool {
        if case .position(_, let signature?) = start { signature == table.signature } else { true }
    }

    func apply(_ pass: Pass) async throws -> Position {
        let format = form.format
        let bytes = Mutex(isFirst ? format.beginning : [])
        let reached: Position
        if case .now = start {
            reached = try await pass.skip()
        } else {
            if let reason = pass.freshStart {
                bytes.withLock { format.append(snapshot: "\(reason)", to: &$0) }
            }
            let kind: StreamFormat.Kind = pass.freshStart == nil ? .change : .row
            reached = try await pass.forEachLine(of: form.filter?.selection) { line in
                let piece: [UInt8] = bytes.withLock { bytes in
                    format.append(kind, line, to: &bytes)
                    guard bytes.count >= Self.pieceSize else { return [] }
                    defer { bytes = [] }
                    return bytes
                }
                try write(piece)
            }
        }
        // Who has come this far already knows it.
        if isFirst || pass.freshStart != nil || reached != position() {
            bytes.withLock { format.append(reached, to: &$0) }
        }
        try write(bytes.withLock { $0 })
        state.withLock { $0.reached = (reached, pass.table.signature) }
        return reached
    }

    private func write(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        state.withLock { $0.hasWritten = true }
        try spool.append(bytes)
    }
}
