/// A value that many ask for at the same time, and that is read for all of them at once.
actor SharedReading<Value: Sendable> {
    private let read: @Sendable () async throws -> Value
    private var running: Task<Value, any Error>?
    /// Begins when the running one has ended.
    private var next: Task<Value, any Error>?

    init(_ read: @escaping @Sendable () async throws -> Value) {
        self.read = read
    }

    /// The value, by a reading that begins after this call: it may have changed since the running one began.
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
