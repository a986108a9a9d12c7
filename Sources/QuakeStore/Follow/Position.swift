import PostgreSQL
import Synchronization

/// How far a reader has come: the token of the last transaction it has applied, and what identifies that transaction
/// beyond its number.
///
/// After a crash of the reader it is still worth all it was: what came after it can be read again. It is worth
/// nothing once the server's past is another one (restored, failed over with a loss, pruned beyond it);
/// `history.check` tells.
public struct Position: Sendable, Equatable {
    /// Identity of the store, a UUID.
    public let store: String
    public let token: Int
    /// When that transaction was committed, in UTC and to the microsecond, such as
    /// `2026-11-21T09:00:00.123456Z`: an opaque part of the position.
    public let committedAt: String

    public init(store: String, token: Int, committedAt: String) {
        self.store = store
        self.token = token
        self.committedAt = committedAt
    }
}

/// Why a view starts over with a fresh snapshot.
public enum FreshStart: Sendable, Equatable {
    /// It holds nothing yet.
    case first
    /// The history after its token was pruned.
    case pruned(after: Int)
    /// The database holds another store.
    case otherStore
    /// Its token is higher than any here: transactions that it had seen were lost.
    case future(Int, newest: Int)
    /// Another transaction has its token here.
    case otherTransaction(Int)
    /// The table has other columns now, or was written anew by ALTER TABLE: its rows may differ without a change in history.
    case altered
}

extension FreshStart: CustomStringConvertible {
    public var description: String {
        switch self {
        case .first: "first start"
        case .pruned(let token): "the history after token \(token) was pruned"
        case .otherStore: "the database is another one than before"
        case .future(let token, let newest):
            "token \(token) is not known here, where the newest is \(newest): the server was restored or has lost transactions"
        case .otherTransaction(let token):
            "token \(token) belongs to another transaction here: the server was restored or has lost transactions"
        case .altered: "the table was altered"
        }
    }
}

/// What one snapshot says about a reader.
struct Standing: Sendable {
    /// The snapshot's own position.
    let position: Position
    /// As `TableShape.signature`, when the snapshot was taken.
    let shape: String
    /// nil when the history from the reader's position on is there, or the reader holds nothing.
    let freshStart: FreshStart?

    /// One row, of so many columns, which are null in the rows of a pass.
    static let width = 6

    /// - Parameter reader: where the reader stands; nil when it holds nothing.
    static func query(of reader: Position?, on connection: Connection) async throws -> String {
        var arguments = "null, null, null"
        if let reader {
            let (store, committedAt) = (
                try await connection.quoted(reader.store), try await connection.quoted(reader.committedAt)
            )
            arguments = "\(store), \(reader.token), \(committedAt)"
        }
        return """
            select store::text, token,
                   to_char(committed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as committed_at,
                   history.check(\(arguments)) as verdict,
                   (\(TableShape.signatureQuery)) as shape,
                   -- The text of values is the same for every session, as it is in history.changes.
                   (select count(set_config(name, value, true))
                    from (values ('timezone', 'UTC'), ('datestyle', 'ISO, YMD'),
                                 ('intervalstyle', 'postgres'), ('extra_float_digits', '1'),
                                 ('bytea_output', 'hex')) as setting (name, value)) as settings
            from history.position()
            """
    }

    static func read(of reader: Position?, on connection: Connection) async throws -> Standing {
        let standing = Mutex<Standing?>(nil)
        try await connection.copy(
            rowsOf: query(of: reader, on: connection), to: "read the history's position"
        ) { row in
            let read = try Standing(&row, of: reader)
            standing.withLock { $0 = read }
        }
        guard let standing = standing.withLock({ $0 }) else { throw CopiedRowError() }
        return standing
    }

    /// Reads the row.
    ///
    /// - Throws: `PostgresError` when the history says nothing of itself.
    init(_ row: inout CopiedRow, of reader: Position?) throws {
        func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
            bytes.map { String(decoding: $0, as: UTF8.self) }
        }
        let (store, token, committedAt) = (
            text(try row.nextBytes()), try row.nextInteger(), text(try row.nextBytes())
        )
        let (verdict, shape) = (text(try row.nextBytes()), text(try row.nextBytes()))
        _ = try row.nextInteger()
        guard let store, let token, let committedAt, let verdict, let shape else {
            throw PostgresError(
                operation: "read the history's position", message: "history.store holds no row",
                remedy: "restore the whole database")
        }
        position = Position(store: store, token: Int(token), committedAt: committedAt)
        self.shape = shape
        freshStart = reader.flatMap { [position] in Self.freshStart(of: $0, verdict, now: position) }
    }

    private static func freshStart(of reader: Position, _ verdict: String, now: Position) -> FreshStart? {
        switch verdict {
        case "ok": nil
        case "expired": .pruned(after: reader.token)
        default:
            if reader.store != now.store {
                .otherStore
            } else if reader.token > now.token {
                .future(reader.token, newest: now.token)
            } else {
                .otherTransaction(reader.token)
            }
        }
    }
}
