import AsyncAlgorithms
import Feed
import Synchronization

/// Reads a source in a separate task, and hands its chunks to the task that imports them. So if a lane fails, the run ends at
/// once, even if the source is a pipe that sends nothing for hours.
///
/// Only one chunk is read ahead: a fast source has to wait.
final class SourceReading: Sendable {
    private typealias Chunks = AsyncThrowingChannel<[UInt8], any Error>

    private let state = Mutex<(arrival: Arrival, isStopped: Bool, chunks: Chunks?)>((Arrival(), false, nil))

    var arrival: Arrival { state.withLock { $0.arrival } }

    /// Reads all of the source, and calls `body` with each chunk. Several sources can be read, one after the other.
    ///
    /// - Throws: `CancellationError` after `stop`; any error of `FeedSource.read` and `body`.
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
        // If this function throws, the reading task is cancelled and awaited.
        async let result = handOver(source, to: chunks, ifChangedSince: validators, options: options)
        for try await chunk in chunks { try await body(chunk) }
        // If the task is cancelled, the loop ends without an error, even if not everything was read.
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
