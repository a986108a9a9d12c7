import PostgreSQL

extension Connection {
    /// Sets the reason that the history records for the following changes of the transaction; nil for none.
    func setReason(_ reason: String?) async throws {
        try await query(
            "select set_config('history.reason', \(reason ?? ""), true)", to: "set the reason for the changes"
        )
    }
}
