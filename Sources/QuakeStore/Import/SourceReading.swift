import AsyncAlgorithms
import Feed
import Synchronization

/// Reads a source in a separate task, and hands its chunks to the task that imports them. So a lane that has failed ends
/// the run at once, even if the source is a pipe that has nothing to say for hours.
///
/// One chunk is read ahead, and no more: a fast source waits.
final class SourceReading: Sendable {
    private typealias Chunks = AsyncThrowingChannel<[UInt8], any Error>

    private let state = Mutex<(arrival: Arrival, isStopped: Bool, chunks: Chunks?)>((Arrival(), false, nil))

    var arrival: Arrival { state.withLock { $0.arrival } }

    /// Reads all of the source, and calls `body` with each chunk. Several sources can be read, one after the other.
    ///
    /// - Throws: `CancellationError` after `stop`; what `FeedSource.read` and `body` throw.
    func read(
        _ source: FeedSource, ifChangedSince validators: Validators?, options: FetchOptions,
        _ body: ([UInt8]) async throws -> Void
    ) async throws -> FetchResult {
        let chunks = Chunks()
        let isStopped = state.withLock { state in
            state.chunks = chunks
            return state.isStopped
        }
        if isStopped { throw CancellationError() }
        // If this function throws, the reading is cancelled, and waited for.
        async let result = handOver(source, to: chunks, ifChangedSince: validators, options: options)
        for try await chunk in chunks { try await body(chunk) }
        // A cancelled task sees the end of the channel wherever it is.
        try Task.checkCancellation()
        return try await result
    }

    /// Ends `read`, even while it waits for the source.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.chunks?.fail(CancellationError())
        }
    }

    private func handOver(
        _ source: FeedSource, to chunks: Chunks, ifChangedSince validators: Validators?,
        options: FetchOptions
    ) async throws -> FetchResult {
        defer { chunks.finish() }
        var options = options
        options.arrived = { [self] arrival in state.withLock { $0.arrival = arrival } }
        return try await source.read(ifChangedSince: validators, options: options) { chunk in
            await chunks.send(chunk)
            try Task.checkCancellation()
        }
    }
}
