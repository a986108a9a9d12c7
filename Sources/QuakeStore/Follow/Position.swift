import Feed
import Foundation
import PostgreSQL

/// A reader's position in the history: the last transaction that the reader has applied.
///
/// If the reader crashes, its stored position stays valid: all later transactions can be read again. A position becomes invalid
/// if the server is restored, if a failover loses transactions, or if the history after the position is pruned. `history.check`
/// detects an invalid position.
public struct Position: Sendable, Hashable {
    /// The store's identity, a UUID.
    public let store: String
    public let token: Int
    /// When the transaction was committed, in UTC and to the microsecond, such as `2026-11-21T09:00:00.123456Z`. Readers treat it
    /// as an opaque part of the position.
    public let committedAt: String
    /// Eight random hexadecimal digits that were drawn together with the token. The digits are needed because in a restored copy
    /// of the database, another transaction may have the same token and even the same time.
    public let nonce: String

    public init(store: String, token: Int, committedAt: String, nonce: String) {
        self.store = store
        self.token = token
        self.committedAt = committedAt
        self.nonce = nonce
    }
}

// The text forms are for people and programs that store a position between two requests.
extension Position {
    public var json: String {
        "{\"store\":\"\(store)\",\"token\":\(token),\"committed_at\":\"\(committedAt)\",\"nonce\":\"\(nonce)\"}"
    }

    /// The position as JSON with the shape of the table. A reader that stores the shape can tell later whether the table was
    /// altered.
    public func json(of table: TableShape) -> String {
        "\(json.dropLast()),\"shape\":\"\(table.signature)\"}"
    }

    /// The position as one word, such as `8_2026-11-21T09:01:00.654321Z_b40e77d2_0f0e2d3c-…`, for use in URLs and headers.
    public var word: String { "\(token)_\(committedAt)_\(nonce)_\(store)" }

    /// Reads a position from its `word`; nil if the text does not have this form.
    public init?(word: String) {
        let form =
            /(\d{1,19})_(\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d[.]\d{6}Z)_([0-9a-f]{8})_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/
            .asciiOnlyDigits()
        guard let match = word.wholeMatch(of: form), let token = Int(match.1),
            let instant = Instant(String(match.2)), Instant.possible.contains(instant)
        else { return nil }
        self.init(
            store: String(match.4), token: token, committedAt: String(match.2), nonce: String(match.3))
    }
}

extension Position {
    /// Reads a position from its `json`, which may have further members; nil if the text does not have this form.
    public init?(json: [UInt8]) {
        struct Members: Decodable {
            let store: String
            let token: Int
            let committedAt: String
            let nonce: String
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let members = try? decoder.decode(Members.self, from: Data(json)) else { return nil }
        self.init(word: "\(members.token)_\(members.committedAt)_\(members.nonce)_\(members.store)")
    }
}

extension Position {
    /// Whether a pass from this position is long. It is long if many changes follow the position, or if the position is no longer
    /// valid, because the pass then reads all rows.
    ///
    /// - Parameters:
    ///   - limit: a pass with more changes than this counts as long.
    ///   - signature: the signature of the table's shape when the reader stored its position; nil if it is not known.
    public func isFarBehind(_ limit: Int, of signature: String?, on connection: Connection) async throws
        -> Bool
    {
        let state = try await CatalogueState.read(for: self, on: connection)
        // On a standby that is behind, no changes follow the position yet.
        if state.isBehind { return false }
        guard state.freshStart == nil, signature == nil || signature == state.shape else { return true }
        return try await Self.areChanges(moreThan: limit, after: token, on: connection)
    }

    /// Whether more than `limit` changes follow a token.
    ///
    /// - Parameter context: changes of transactions with this context do not count.
    static func areChanges(
        moreThan limit: Int, after token: Int, exceptIn context: String? = nil, on connection: Connection
    ) async throws -> Bool {
        try await connection.query(
            """
            select coalesce(sum(changes), 0) > \(limit) as are_more
            from (select changes from history.transaction
                  where token > \(token) and (\(context == nil) or context is distinct from \(context))
                  order by token limit \(limit)) as next
            """, to: "count the changes after a position")[0].decode("are_more")
    }

    /// The position for a reader that knows only a token: the position of the last transaction with this token or a lower one. If
    /// the history does not cover the token, the result is an invalid position.
    public static func known(by token: Int, on connection: Connection) async throws -> Position {
        let operation = "find a token"
        let rows = try await connection.query(
            """
            select store.store::text, coalesce(last.token, \(token)) as token,
                   coalesce(last.committed_at, 'epoch') as committed_at, coalesce(last.nonce, '00000000') as nonce
            from history.store
            left join lateral (
                (select token, committed_at, nonce from history.transaction
                 where token <= \(token) order by token desc limit 1)
                union all
                select pruned_token, pruned_committed_at, pruned_nonce
                order by token desc limit 1
            ) as last on \(token) between pruned_token and history.current_token()
            """, to: operation)
        guard var row = rows.first, let known = try Position.next(in: &row) else {
            throw PostgresError.noRow(in: "history.store", operation)
        }
        return known.position
    }

    /// Reads the four columns of `history.position()`, with the store as text; nil if one of them is null.
    static func next(in row: inout Row) throws -> (position: Position, committedAt: CommitTime)? {
        let (store, token) = (try row.nextText(), try row.nextInteger())
        let (committedAt, nonce) = (try CommitTime.next(in: &row), try row.nextText())
        guard let store, let token, let committedAt, let nonce else { return nil }
        return (
            Position(store: store, token: Int(token), committedAt: "\(committedAt)", nonce: nonce),
            committedAt
        )
    }
}

extension PostgresError {
    static func noRow(
        in table: String, _ operation: String, remedy: String = "restore the whole database"
    ) -> PostgresError {
        PostgresError(operation: operation, message: "\(table) holds no row", remedy: remedy)
    }
}
