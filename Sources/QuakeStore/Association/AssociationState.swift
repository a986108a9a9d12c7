import Association
import Feed
import PostgreSQL

/// The row of `import.association`: the associator's position, and the parameters it uses.
struct AssociationState {
    /// The groups include all changes up to this position; nil before the first association.
    let position: Position?
    let shape: String?
    let parameters: Parameters
    /// The version of the rules, and a hash of the current parameters. If they differ from `madeWith`, the groups were made with
    /// other rules or parameters.
    private let fingerprint: String
    private let madeWith: String?
    /// The number of the newest migration.
    private let schema: Int

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
                   concat(\(Association.rules), ' ', hashtextextended(concat(parameters, \(Parameters.shippedText)), 0)),
                   (select max(number) from import.migration)::text
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
        guard let fingerprint = try row.nextText(), let schema = try row.nextText().flatMap({ Int($0) })
        else {
            throw RowError.other
        }
        return AssociationState(
            position: position, shape: shape,
            parameters: try text.map { try Parameters(text: $0) } ?? .shipped,
            fingerprint: fingerprint, madeWith: madeWith, schema: schema)
    }

    /// Refuses to work on a database or on groups of a newer version. Otherwise, an older and a newer version that run at the same
    /// time would group all rows again and again.
    ///
    /// - Parameter rebuilds: whether a person wants this version to group all rows again.
    /// - Throws: an error if a newer version has migrated the database or grouped the rows.
    func refuseNewer(rebuilds: Bool) throws {
        if let known = Migration.all.last?.number, schema > known { throw MigrationError.ahead(schema) }
        let rules = madeWith?.split(separator: " ").first.flatMap { Int($0) } ?? 0
        guard rebuilds || rules <= Association.rules else {
            throw Failure(
                .unavailable,
                "a newer version has grouped the events (by version \(rules) of the rules; this version has \(Association.rules)); install that version of quakes, or group all events again: quakes associate --rebuild"
            )
        }
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
