import Logging
import PostgreSQL
import Synchronization

/// One of the connections that import a document side by side, batch by batch.
///
/// It has two batches, of which one is filled while the other one is imported; whoever fills waits for a slow lane, so that
/// memory stays bounded.
struct Lane: Sendable {
    private let filled = AsyncStream<Work>.makeStream()
    private let emptied = AsyncStream<FeatureBatch>.makeStream()

    private struct Work: Sendable {
        let batch: FeatureBatch
        let state: DocumentState
    }

    init(second batch: FeatureBatch) {
        emptied.continuation.yield(batch)
    }

    /// Has a batch imported, and waits for the lane's other one.
    func exchange(_ batch: FeatureBatch, _ state: DocumentState) async throws -> FeatureBatch {
        hand(batch, state)
        var batches = emptied.stream.makeAsyncIterator()
        // None comes when this task is cancelled, or when the lane has failed: its own error says more.
        guard let next = await batches.next() else { throw CancellationError() }
        return next
    }

    /// Has a batch imported.
    func hand(_ batch: FeatureBatch, _ state: DocumentState) {
        filled.continuation.yield(Work(batch: batch, state: state))
    }

    /// No batch comes any more.
    func close() {
        filled.continuation.finish()
    }

    /// Imports batches until the last one.
    ///
    /// - Parameter opensConnection: over a connection of its own, opened as the other one was.
    func run(_ batchImport: BatchImport, opensConnection: Bool, _ runningCounts: RunningCounts) async throws {
        defer { emptied.continuation.finish() }
        guard opensConnection else { return try await importAll(batchImport, runningCounts) }
        var own = batchImport
        try await Connection.with(own.connection.options, logger: own.logger) { connection in
            own.connection = connection
            try await own.prepareSession()
            try await importAll(own, runningCounts)
        }
    }

    private func importAll(_ batchImport: BatchImport, _ runningCounts: RunningCounts) async throws {
        var last = runningCounts.counts
        for await work in filled.stream {
            var state = work.state
            state.expectsNew = last.areAllNew
            last = try await batchImport.run(work.batch, state, before: runningCounts.counts)
            runningCounts.add(last)
            work.batch.removeAll()
            emptied.continuation.yield(work.batch)
        }
        try Task.checkCancellation()
    }
}
