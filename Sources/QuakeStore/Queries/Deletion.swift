import Feed
import PostgreSQL

public enum Deletion {
    /// Deletes the earthquakes with these codes in one transaction: either all of them or none.
    ///
    /// - Parameter reason: the reason that the history records; nil for none.
    /// - Throws: `Failure` if the table lacks at least one of these earthquakes, or if a constraint or a trigger refuses a
    ///   deletion. Then nothing is deleted.
    public static func delete(
        _ codes: [String], reason: String?, on connection: Connection
    ) async throws {
        // Rows are locked in the order of their codes, as imports lock them, to avoid deadlocks.
        let codes = Set(codes.map { ExactText($0) }).sorted().map(\.text)
        try await connection.write(to: "delete earthquakes") {
            try await connection.setReason(reason)
            var unknown: [String] = []
            for code in codes {
                do {
                    let count = try await connection.execute(
                        "delete from only public.quake where code = \(code)", to: "delete an earthquake")
                    if count == 0 { unknown.append(code) }
                } catch let error as PostgresError where error.isRefusedRow {
                    throw Failure(refusedDeletion: error)
                }
            }
            guard unknown.isEmpty else {
                throw Failure.unknownCodes(unknown, consequence: "nothing was deleted")
            }
        }
    }
}
