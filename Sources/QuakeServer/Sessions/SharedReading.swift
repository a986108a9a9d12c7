/// Reads a value once for all tasks that ask for it at the same time.
actor SharedReading<Value: Sendable> {
    private let read: @Sendable () async throws -> Value
    private var running: Task<Value, any Error>?
    /// The reading that begins when the running one has ended.
    private var next: Task<Value, any Error>?

    init(_ read: @escaping @Sendable () async throws -> Value) {
        self.read = read
    }

    /// The value, from a reading that begins after this call. A reading that is already running may have missed the latest
    /// change.
    func result() async -> Result<Value, any Error> {
        let reading =
            next
            ?? Task { [running] in
                _ = await running?.result
                (self.running, next) = (next, nil)
                return try await read()
            }
        next = reading
        return await reading.result
    }
}
