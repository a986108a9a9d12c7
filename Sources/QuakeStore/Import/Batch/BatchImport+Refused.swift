import Feed
import PostgreSQL

extension BatchImport {
    /// Finds each feature that the server refuses, and commits nothing. One transaction is enough for any number of refused
    /// features, unless the server can't even read some of the copied rows. In that case each half of the records is tried
    /// separately, and halved again until each unreadable row is tried alone.
    func findRefused(_ records: [Int], _ batch: FeatureBatch, _ refused: inout Refused) async throws {
        do {
            for (index, error) in try await refusals(of: records, batch) {
                refused[batch.records[index].feature.ordinal] = Rejection(refusal: error)
            }
        } catch let unreadable as UnreadableRow {
            if records.count == 1, let index = records.first {
                refused[batch.records[index].feature.ordinal] = Rejection(refusal: unreadable.error)
                return
            }
            let middle = records.count / 2
            try await findRefused(Array(records[..<middle]), batch, &refused)
            try await findRefused(Array(records[middle...]), batch, &refused)
        }
    }

    /// Tries to merge each record, and rolls everything back. A dry run only copies the records.
    ///
    /// - Returns: the errors of the refused records, keyed by the records' indices.
    private func refusals(of records: [Int], _ batch: FeatureBatch) async throws -> [Int: PostgresError] {
        try await connection.trying(to: "look for refused features") {
            try await connection.execute(
                script: MergeStatement.incomingTable + ";" + MergeStatement.refusals,
                to: "prepare to look for refused features")
            do {
                try await connection.copy(records, of: batch, into: "pg_temp.incoming")
            } catch let error as PostgresError where error.isRefusedValue {
                throw UnreadableRow(error: error)
            }
            if run == nil { return [:] }
            let rows = try await connection.query(
                "select number, state, message from pg_temp.refusals()", to: "try each feature")
            return try rows.reduce(into: [:]) { errors, row in
                let index = records[try row.decode("number", as: Int.self) - 1]
                errors[index] = PostgresError(
                    operation: "try a feature", sqlState: try row.decode("state"),
                    message: try row.decode("message"))
            }
        }
    }
}

/// The server can't read one of the copied rows.
private struct UnreadableRow: Error {
    let error: PostgresError
}

extension Rejection {
    fileprivate init(refusal error: PostgresError) {
        let message = error.message.split(whereSeparator: \.isNewline).joined(separator: " ")
        self.init(
            .refused, "the server refused a value: \(message) (SQLSTATE \(error.sqlState ?? "none"))")
    }
}
