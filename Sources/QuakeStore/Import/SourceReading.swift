import AsyncAlgorithms
import Feed
import Synchronization

/// Reads a source in a separate task, and hands its chunks to the task that imports them. So a lane that has failed ends
/// the run at once, even if the source is a pipe that has nothing to say for hours.
///
/// One chunk is read ahead, and no more: a fast source waits.
final class SourceReading: Sendable {
    private typealias Chunks = AsyncThrowingChannel<[UInt8], any Error>

    private let arrived = Mutex(Arrival())
    /// Ends the reading that is going on.
    private let ending = Mutex<(isStopped: Bool, chunks: Chunks?)>((false, nil))

    /// How much has arrived so far.
    var arrival: Arrival { arrived.withLock { $0 } }

    /// Reads all of the source, and calls `body` with each chunk. Several sources can be read, one after the other.
    ///
    /// - Throws: `CancellationError` after `stop`; what `FeedSource.read` and `body` throw.
    func read(
        _ source: FeedSource, ifChangedSince validators: Validators?, options: FetchOptions,
        _ body: ([UInt8]) async throws -> Void
    ) async throws -> FetchResult {
        let chunks = Chunks()
        let isStopped = ending.withLock { ending in
            ending.chunks = chunks
            return ending.isStopped
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
        ending.withLock { ending in
            ending.isStopped = true
            ending.chunks?.fail(CancellationError())
        }
    }

    private func handOver(
        _ source: FeedSource, to chunks: Chunks, ifChangedSince validators: Validators?,
        options: FetchOptions
    ) async throws -> FetchResult {
        defer { chunks.finish() }
        var options = options
        options.arrived = { [self] arrival in arrived.withLock { $0 = arrival } }
        return try await source.read(ifChangedSince: validators, options: options) { chunk in
            await chunks.send(chunk)
            try Task.checkCancellation()
        }
    }
}
