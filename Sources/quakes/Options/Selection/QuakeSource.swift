/// Where a command reads the selected earthquakes.
enum QuakeSource: Sendable {
    /// A file that `quakes follow` keeps up to date.
    case view(path: String)
    case database(Database)
}

extension SelectionOptions {
    /// The file of --view, or else the database. Call it once in a command: each call announces the private cluster.
    func located(_ database: DatabaseOptions) async throws -> QuakeSource {
        if let view { return .view(path: view) }
        return .database(try await database.located())
    }
}
