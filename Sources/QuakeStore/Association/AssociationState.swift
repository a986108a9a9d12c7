import Association
import Feed
import PostgreSQL

/// The row of `import.association`: the associator's position, and the parameters it uses.
struct AssociationState {
    /// The groups include all changes up to this position; nil before the first association.
    let position: Position?
    let shape: String?
    let parameters: Parameters
    /// A hash of the current parameters and rules. If it differs from `madeWith`, the groups were made with other parameters or
    /// rules.
    private let fingerprint: String
    private let madeWith: String?

    /// Reads the row and locks it until the transaction ends, so that only one associator works at a time: others wait here.
    static func lock(on connection: Connection) async throws -> AssociationState {
        try await read("for update", on: connection)
    }

    static func read(on connection: Connection) async throws -> AssociationState {
        try await read("", on: connection)
    }

    private static func read(_ clause: String, on connection: Connection) async throws -> AssociationState {
        let operation = "read the association's position"
        let rows = try await connection.query(
            """
            select position, shape, parameters, made_with,
                   hashtextextended(concat(parameters, \(Parameters.shippedText)), \(Association.rules))::text
            from import.association \(unescaped: clause)
            """, to: operation)
        guard var row = rows.first else {
            throw PostgresError.noRow(
                in: "import.association", operation,
                remedy: "insert into import.association default values")
        }
        let position = try row.nextText().flatMap(Position.init(word:))
        let shape = try row.nextText()
        let text = try row.nextText()
        let madeWith = try row.nextText()
        guard let fingerprint = try row.nextText() else { throw RowError.other }
        return AssociationState(
            position: position, shape: shape,
            parameters: try text.map { try Parameters(text: $0) } ?? .shipped,
            fingerprint: fingerprint, madeWith: madeWith)
    }

    /// The reason why all rows have to be grouped again; nil if it is enough to regroup the neighbours of changed rows.
    func reasonToRebuild(_ snapshot: CatalogueState) -> String? {
        guard position != nil else { return "\(FreshStart.first)" }
        if let reason = snapshot.freshStart { return "\(reason)" }
        if shape != snapshot.shape { return "\(FreshStart.altered)" }
        return madeWith == fingerprint ? nil : "the parameters have changed"
    }

    /// Stores the position, shape and parameters of a finished pass.
    ///
    /// - Parameter isDurable: whether the commit waits for the disk. It need not wait if no group was written. A crash of the
    ///   server may then lose the new position, and the same changes are read again.
    func move(to snapshot: CatalogueState, isDurable: Bool, on connection: Connection) async throws {
        try await connection.query(
            """
            update import.association
            set position = \(snapshot.position.word), shape = \(snapshot.shape), made_with = \(fingerprint)
            returning case when not \(isDurable) then set_config('synchronous_commit', 'off', true) end
            """, to: "store the association's position")
    }
}
