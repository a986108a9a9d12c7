import Feed
import Logging
import PostgreSQL

/// Imports one batch of features in one transaction.
struct BatchImport {
    let connection: Connection
    let logger: Logger
    /// The run in `import.run`; nil for a dry run, which writes nothing.
    let run: Int?

    private static let attempts = 5

    /// Imports the first `count` features of a batch and returns what happened.
    ///
    /// A deadlock or a serialisation failure repeats the batch, at most five times in all. A feature whose values the
    /// server refuses is found and rejected alone.
    ///
    /// - Parameter bytes: how much of the document ends with this batch.
    nonisolated(nonsending)
        func importFirst(
            _ count: Int, of batch: FeatureBatch, bytes: Int, document: DocumentState,
            decoder: inout FeatureDecoder
        ) async throws -> ImportCounts
    {
        var refused: [Int: Rejection] = [:]
        var attempt = 1
        while true {
            do {
                return try await commit(
                    batch.features.prefix(count), batch, bytes, document, refused, &decoder)
            } catch let error as PostgresError where error.isRefusedValue && refused.isEmpty {
                try await findRefused(batch.features.prefix(count), batch, &decoder, &refused)
                guard !refused.isEmpty else { throw error }
            } catch let error as PostgresError where error.isRetryable && attempt < Self.attempts {
                logger.info("repeating a batch: \(error)")
                attempt += 1
                try await Task.sleep(for: .milliseconds(Int.random(in: 5...50) << attempt))
            }
        }
    }

    // MARK: One transaction

    nonisolated(nonsending)
        private func commit(
            _ features: ArraySlice<FeatureBatch.Feature>, _ batch: FeatureBatch, _ bytes: Int,
            _ document: DocumentState, _ refused: [Int: Rejection], _ decoder: inout FeatureDecoder
        ) async throws -> ImportCounts
    {
        try await connection.transaction(to: "import a batch") {
            if document.isBeginning {
                try await connection.execute("delete from pg_temp.present", to: "forget the last document")
            }
            let rejections = try await copy(features, batch, refused, &decoder)
            var counts = try await merge(of: features.count - rejections.count, document)
            counts.bytes = bytes
            counts.rejected = rejections.count
            counts.seen += rejections.count
            counts.unreadable = try await note(rejections, of: batch, document)
            if let settlement = document.settlement {
                try await settlement.settle(&counts, isDryRun: run == nil, on: connection)
            }
            if let run {
                if !rejections.isEmpty {
                    try await connection.execute(
                        MergeStatement.keepRejects(run: run), to: "keep rejected features")
                }
                let row = try await connection.query(
                    MergeStatement.addCounts(counts, run: run), to: "record the batch's counts")[0]
                counts.history = try row.decodeIfPresent("history", as: Int.self).map { $0...$0 }
            }
            return counts
        }
    }

    /// Decodes the features and streams them into `incoming`, in pieces of about 64 KiB. Returns those that are
    /// rejected.
    nonisolated(nonsending)
        private func copy(
            _ features: ArraySlice<FeatureBatch.Feature>, _ batch: FeatureBatch,
            _ refused: [Int: Rejection], _ decoder: inout FeatureDecoder
        ) async throws -> [(FeatureBatch.Feature, Rejection)]
    {
        var rejections: [(FeatureBatch.Feature, Rejection)] = []
        try await connection.copy(
            into: "pg_temp.incoming", columns: MergeStatement.incomingColumns,
            to: "copy a batch of \(features.count) features"
        ) { writer in
            var rows = BinaryRows()
            for feature in features {
                do {
                    if let rejection = refused[feature.ordinal] { throw rejection }
                    try append(feature, batch, to: &rows, &decoder)
                } catch let rejection as Rejection {
                    rejections.append((feature, rejection))
                }
                if rows.bytes.count >= 64 << 10 {
                    try await writer.write(rows)
                    rows.removeAll()
                }
            }
            try await writer.write(rows)
        }
        return rejections
    }

    private func append(
        _ feature: FeatureBatch.Feature, _ batch: FeatureBatch, to rows: inout BinaryRows,
        _ decoder: inout FeatureDecoder
    ) throws {
        if feature.isOversized {
            throw Rejection(.size, "the feature has \(feature.size) bytes, more than 1 MiB")
        }
        try batch.withBytes(of: feature) { bytes in
            let record = try decoder.decode(bytes)
            rows.append(record, ordinal: feature.ordinal, from: bytes)
        }
    }

    nonisolated(nonsending)
        private func merge(of copied: Int, _ document: DocumentState) async throws -> ImportCounts
    {
        var counts = ImportCounts()
        counts.seen = copied
        if copied == 0 { return counts }
        let statement =
            run == nil ? MergeStatement.preview(document) : MergeStatement.merge(document)
        let row = try await connection.query(statement, to: "merge a batch of \(copied) features")[0]
        counts.inserted = try row.decode("inserted")
        counts.updated = try row.decode("updated")
        counts.stale = try row.decode("stale")
        if try row.decode("codes") != copied {
            let row = try await connection.query(
                MergeStatement.staleWithinBatch, to: "count the batch's duplicates")[0]
            counts.stale += try row.decode("stale")
        }
        counts.unchanged = copied - counts.inserted - counts.updated - counts.stale
        return counts
    }

    // MARK: Rejects

    nonisolated(nonsending)
        private func note(
            _ rejections: [(FeatureBatch.Feature, Rejection)], of batch: FeatureBatch,
            _ document: DocumentState
        ) async throws -> Int
    {
        if rejections.isEmpty { return 0 }
        var unreadable = 0
        try await connection.copy(
            into: "pg_temp.rejected", columns: MergeStatement.rejectedColumns, to: "copy rejected features"
        ) { writer in
            var rows = BinaryRows()
            for (feature, rejection) in rejections {
                let code = try batch.withBytes(of: feature) { readableCode(of: $0) }
                if code == nil { unreadable += 1 }
                try rows.append(feature, rejection, code, from: batch)
                try await writer.write(rows)
                rows.removeAll()
            }
        }
        if document.notesPresence {
            try await connection.execute(MergeStatement.noteRejects, to: "note rejected features")
        }
        return unreadable
    }

    /// Halves the batch until each feature is found that the server refuses. Nothing of it is committed.
    nonisolated(nonsending)
        private func findRefused(
            _ features: ArraySlice<FeatureBatch.Feature>, _ batch: FeatureBatch,
            _ decoder: inout FeatureDecoder, _ refused: inout [Int: Rejection]
        ) async throws
    {
        guard let error = try await refusal(of: features, batch, &decoder) else { return }
        if features.count == 1, let feature = features.first {
            let state = error.sqlState ?? "none"
            refused[feature.ordinal] = Rejection(
                .refused, "the server refused a value: \(error.message) (SQLSTATE \(state))")
            return
        }
        let middle = features.startIndex + features.count / 2
        try await findRefused(features[..<middle], batch, &decoder, &refused)
        try await findRefused(features[middle...], batch, &decoder, &refused)
    }

    /// Tries a part of the batch, and rolls it back.
    nonisolated(nonsending)
        private func refusal(
            of features: ArraySlice<FeatureBatch.Feature>, _ batch: FeatureBatch,
            _ decoder: inout FeatureDecoder
        ) async throws -> PostgresError?
    {
        do {
            try await connection.transaction(to: "try a part of a batch") {
                let rejections = try await copy(features, batch, [:], &decoder)
                _ = try await merge(of: features.count - rejections.count, DocumentState())
                throw RolledBack()
            }
            return nil
        } catch is RolledBack {
            return nil
        } catch let error as PostgresError where error.isRefusedValue {
            return error
        }
    }

    private struct RolledBack: Error {}
}

extension BinaryRows {
    /// Appends one row of `rejected`: at most 64 KiB of the feature's bytes.
    fileprivate mutating func append(
        _ feature: FeatureBatch.Feature, _ rejection: Rejection, _ code: String?, from batch: FeatureBatch
    ) throws {
        beginRow(columns: MergeStatement.rejectedColumns.count)
        appendInteger(Int64(feature.ordinal))
        appendInteger(Int64(feature.offset))
        appendBytes { $0.append(contentsOf: rejection.reason.rawValue.utf8) }
        appendBytes { $0.append(contentsOf: rejection.message.utf8) }
        try batch.withBytes(of: feature) { bytes in
            appendBytes { $0.append(contentsOf: bytes.prefix(FeatureScanner.keptOfOversized)) }
        }
        appendInteger(Int64(feature.size))
        if let code { appendBytes { $0.append(contentsOf: code.utf8) } } else { appendNull() }
    }
}
