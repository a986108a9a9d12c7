import Feed
import Logging
import QuakeStore
import SampleFeed

extension TestDatabase {
    /// Writes a document to a file and imports the file.
    @discardableResult
    public func importDocument(
        _ document: String, _ options: Importer.Options = Importer.Options()
    ) async throws -> ImportSummary {
        try await SmallFeed.withFile(document) { path in
            try await importFile(path, options)
        }
    }

    @discardableResult
    public func importFeatures(
        _ features: [String], batchSize: Int = 20_000, lanes: Int = 1
    ) async throws -> ImportSummary {
        var options = Importer.Options()
        options.batchSize = batchSize
        options.lanes = lanes
        // The document does not begin with metadata. With another setting, the importer could not rule out a feed that deletes
        // events, and would use only one lane.
        if lanes > 1 { options.retraction = .never }
        let summary = try await importDocument(SmallFeed.document(features), options)
        if let failure = summary.failure { throw failure }
        return summary
    }

    @discardableResult
    public func importFile(
        _ path: String, _ options: Importer.Options = Importer.Options()
    ) async throws -> ImportSummary {
        try await importFeed(.file(path), options)
    }

    /// Imports events of the synthetic sample feed.
    @discardableResult
    public func importSample(
        _ count: Int, seed: UInt64 = 1, revised: Double = 0, batchSize: Int = 20_000
    ) async throws -> ImportSummary {
        var document: [UInt8] = []
        SampleFeed(count: count, seed: seed, revised: revised).write { document.append(contentsOf: $0) }
        var options = Importer.Options()
        options.batchSize = batchSize
        let summary = try await importDocument(String(decoding: document, as: UTF8.self), options)
        if let failure = summary.failure { throw failure }
        return summary
    }
}
