import Feed
import Foundation
import Logging
import PostgreSQL
import QuakeStore
import TestSupport

extension TestDatabase {
    /// Imports a document as a file on a connection of its own.
    @discardableResult
    nonisolated(nonsending)
        func importDocument(
            _ document: String, _ options: Importer.Options = Importer.Options()
        ) async throws -> ImportSummary
    {
        try await SmallFeed.withFile(document) { path in
            try await importFile(path, options)
        }
    }

    @discardableResult
    nonisolated(nonsending)
        func importFeatures(
            _ features: [String], batchSize: Int = 20_000
        ) async throws -> ImportSummary
    {
        var options = Importer.Options()
        options.batchSize = batchSize
        let summary = try await importDocument(SmallFeed.document(features), options)
        if let failure = summary.failure { throw failure }
        return summary
    }

    @discardableResult
    nonisolated(nonsending)
        func importFile(
            _ path: String, _ options: Importer.Options = Importer.Options()
        ) async throws -> ImportSummary
    {
        try await withConnection { connection in
            try await Importer(connection, options: options, logger: .quiet).run(.file(path))
        }
    }

    /// One column of every earthquake, by code.
    nonisolated(nonsending)
        func column(_ name: String) async throws -> [String: String?]
    {
        let rows = try await query("select code, \(unescaped: name)::text as value from quake")
        return try Dictionary(
            uniqueKeysWithValues: rows.map { try ($0.decode("code"), $0.decodeIfPresent("value")) })
    }

    nonisolated(nonsending)
        func count(_ table: String) async throws -> Int
    {
        try await query("select count(*) as count from \(unescaped: table)")[0].decode("count")
    }
}

extension ImportSummary {
    /// inserted, updated, unchanged, stale, rejected: short enough to compare.
    var figures: [Int] {
        [counts.inserted, counts.updated, counts.unchanged, counts.stale, counts.rejected]
    }
}
