import Association
import Feed
import PostgreSQL

/// The row of `import.association`: how far the associator has come, and with which parameters.
struct AssociationState {
    /// nil before the first association.
    let position: Position?
    let shape: String?
    let parameters: Parameters
    /// A hash of the parameters and the rules. It tells whether the groups were made with these.
    private let fingerprint: String
    private let madeWith: String?

    /// Reads the row and locks it until the transaction ends, so that one associator works at a time: the next one waits here.
    static func lock(on connection: Connection) async throws -> AssociationState {
        try await read("for update", on: connection)
    }

    static func read(on connection: Connection) async throws -> AssociationState {
        try await read("", on: connection)
    }

    private static func read(_ clause: String, on connection: Connection) async throws -> AssociationState {
        let operation = "read how far the association is"
        let rows = try await connection.query(
            """
            select store::text, token, committed_at, nonce, shape, parameters, made_with,
                   hashtextextended(coalesce(parameters, \(Parameters.shippedText)), \(Association.rules))::text
            from import.association \(unescaped: clause)
            """, to: operation)
        guard var row = rows.first else {
            throw PostgresError(
                operation: operation, message: "import.association holds no row",
                remedy: "insert into import.association default values")
        }
        var positionRow = row
        let position = try Position.next(in: &positionRow)?.position
        try row.skip(4)
        let shape = try row.nextText()
        let text = try row.nextText()
        let madeWith = try row.nextText()
        guard let fingerprint = try row.nextText() else { throw RowError.other }
        return AssociationState(
            position: position, shape: shape,
            parameters: try text.map { try Parameters(text: $0) } ?? .shipped,
            fingerprint: fingerprint, madeWith: madeWith)
    }

    /// Why all groups have to be made again; nil if those that changes touch are enough.
    func reasonToRebuild(_ snapshot: CatalogueState) -> String? {
        guard position != nil else { return "\(FreshStart.first)" }
        if let reason = snapshot.freshStart { return "\(reason)" }
        if shape != snapshot.shape { return "\(FreshStart.altered)" }
        return madeWith == fingerprint ? nil : "the parameters have changed"
    }

    /// - Parameter isDurable: whether the commit waits for the disk. Without new groups it need not: after a crash, the same changes are
    ///   read again.
    func move(to snapshot: CatalogueState, isDurable: Bool, on connection: Connection) async throws {
        let position = snapshot.position
        try await connection.query(
            """
            update import.association
            set store = \(position.store)::uuid, token = \(position.token),
                committed_at = \(position.committedAt)::timestamptz, nonce = \(position.nonce),
                shape = \(snapshot.shape), made_with = \(fingerprint)
            returning case when not \(isDurable) then set_config('synchronous_commit', 'off', true) end
            """, to: "keep how far the association is")
    }

    /// Keeps the parameters for all associations from now on.
    ///
    /// - Parameter text: a parameters file; nil for those that Quakes comes with.
    /// - Throws: `Parameters.InvalidLine`; `PostgresError`.
    static func setParameters(_ text: String?, on connection: Connection) async throws {
        if let text { _ = try Parameters(text: text) }
        try await connection.repeating(
            "update import.association set parameters = \(text)", to: "keep the parameters")
    }
}
