import Feed
import PostgreSQL

/// Drops the position of a named reader that is no more. A reader that still follows under that name reports its position
/// again within seconds.
public struct ForgettingReader: Sendable {
    private let name: String

    public init(_ name: String) {
        self.name = name
    }

    /// - Throws: `UnknownReader`; `PostgresError`.
    public func run(on connection: Connection) async throws {
        try await connection.write(to: "forget a reader") {
            let deleted = try await connection.execute(
                "delete from history.reader where name = \(name)", to: "forget a reader")
            if deleted == 0 { _ = try await HistoryStatus.readers([name], on: connection) }
        }
    }
}

/// No reader has ever reported its position under this name.
public struct UnknownReader: Error, CustomStringConvertible {
    public let description: String

    init(_ name: String, known: [String]) {
        let remedy = closestSpelling(of: name, among: known).map { "did you mean \($0)?" }
        description =
            "no reader has reported under the name \(name); \(remedy ?? "quakes status lists those that did")"
    }
}
