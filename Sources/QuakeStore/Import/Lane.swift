import AsyncAlgorithms
import Logging
import PostgreSQL

/// One of the connections that import a document in parallel, batch by batch.
///
/// A lane has two batches: one is filled while the other is imported. The task that fills them waits for a slow lane,
/// so that memory stays bounded.
struct Lane: Sendable {
    private let filled = AsyncChannel<(FeatureBatch, Settling)>()
    /// The batch that is not being filled. It is either being imported or empty. nil before the first call of `exchange`.
    private var other: FeatureBatch?
    /// If at most this many bytes of a batch's rows are in the temporary file, the lane reads them all at once, not row by row.
    private let readAheadLimit: Int

    init(of count: Int) {
        readAheadLimit = (8 << 20) / count
    }

    /// Hands over a batch for import, and waits until the lane's other batch is free.
    ///
    /// - Parameter second: creates the lane's second batch; called only at the first exchange.
    mutating func exchange(
        _ batch: FeatureBatch, _ settling: Settling, second: () -> FeatureBatch
    ) async throws -> FeatureBatch {
        await hand(batch, settling)
        try Task.checkCancellation()
        let free = other ?? second()
        // `free` is empty, unless the lane has failed. In that case the lane's task throws the cause, which takes precedence over
        // this `CancellationError`.
        guard free.count == 0 else { throw CancellationError() }
        other = batch
        return free
    }

    /// Hands over a batch for import. Returns once the previous batch is imported.
    func hand(_ batch: FeatureBatch, _ settling: Settling) async {
        await filled.send((batch, settling))
    }

    func close() {
        filled.finish()
    }

    func run(_ batchImport: BatchImport) async throws {
        defer { close() }
        try await importAll(batchImport)
    }

    /// Opens another connection, with the options of the run's own connection, and imports the lane's batches over it.
    ///
    /// - Parameter opened: called once: with nil when the connection is open, or with the error if it could not be opened. After
    ///   an error, the lane imports no batch.
    func runBeside(
        _ batchImport: BatchImport, opened: @escaping @Sendable ((any Error)?) -> Void
    ) async throws {
        defer { close() }
        var own = batchImport
        var isOpen = false
        do {
            try await Connection.with(own.connection.options, logger: own.logger) { connection in
                own.connection = connection
                try await MergeStatement.prepare(connection)
                if let run = own.run { try await connection.query(RunLog.naming(run), to: "set the context") }
                isOpen = true
                opened(nil)
                try await importAll(own)
            }
        } catch  where !isOpen {
            opened(error)
        }
    }

    private func importAll(_ batchImport: BatchImport) async throws {
        var room: [UInt8] = []
        for await (batch, settling) in filled {
            try batch.readAhead(atMost: readAheadLimit, into: &room)
            try await batchImport.run(batch, settling)
            room = batch.removeAll()
        }
        try Task.checkCancellation()
    }
}
