import Feed
import Synchronization

/// Reads a source in a task of its own, and hands its chunks to the task that imports them. So a lane that has failed ends
/// the run at once, even if the source is a pipe that has nothing to say for hours.
///
/// One chunk is read ahead, and no more: a fast source waits.
final class SourceReading: Sendable {
    private let chunks = AsyncThrowingStream<[UInt8], any Error>.makeStream()
    private let wishes = AsyncStream<Void>.makeStream()
    private let arrived = Mutex(Arrival())

    /// How much has arrived so far.
    var arrival: Arrival { arrived.withLock { $0 } }

    /// Reads all of the source, and calls `body` with each chunk.
    ///
    /// - Throws: `CancellationError` after `stop`; what `FeedSource.read` and `body` throw.
    func read(
        _ source: FeedSource, ifChangedSince validators: Validators?, options: FetchOptions,
        _ body: ([UInt8]) async throws -> Void
    ) async throws -> FetchResult {
        // If this function throws, the reading is cancelled, and waited for.
        async let result = handOver(source, ifChangedSince: validators, options: options)
        for try await chunk in chunks.stream {
            wishes.continuation.yield()
            try await body(chunk)
        }
        // A cancelled task sees the end of the stream wherever it is.
        try Task.checkCancellation()
        return try await result
    }

    /// Ends `read`, even while it waits for the source.
    func stop() {
        chunks.continuation.finish(throwing: CancellationError())
    }

    private func handOver(
        _ source: FeedSource, ifChangedSince validators: Validators?, options: FetchOptions
    ) async throws -> FetchResult {
        defer { chunks.continuation.finish() }
        var options = options
        options.arrived = { [self] arrival in arrived.withLock { $0 = arrival } }
        return try await source.read(ifChangedSince: validators, options: options) { chunk in
            chunks.continuation.yield(chunk)
            var wishes = wishes.stream.makeAsyncIterator()
            // There is none when the task is cancelled.
            guard await wishes.next() != nil else { throw CancellationError() }
        }
    }
}
