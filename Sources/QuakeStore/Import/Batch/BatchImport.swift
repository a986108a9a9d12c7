import Feed
import Logging
import PostgreSQL

struct BatchImport {
    var connection: Connection
    let logger: Logger
    /// The run in `import.run`; nil for a dry run, which writes nothing.
    let run: Int?
    let runningCounts: RunningCounts

    /// The rejections of features that the server refuses, keyed by the features' ordinals.
    typealias Refused = [Int: Rejection]

    /// Imports a batch and adds its counts.
    ///
    /// The batch is retried after a conflict with another transaction. If the server refuses a value, only the feature with that
    /// value is rejected. If all features of the latest batch were new, the features of this batch are likely to be new, too, so
    /// they are first inserted without a comparison with the table. If most features of the latest batch were unchanged, or if
    /// this is the first batch, the server is first asked which features it needs.
    ///
    /// - Throws: `Failure` if the server refuses to delete an event. Then the batch was imported, but nothing was deleted.
    func run(_ batch: FeatureBatch, _ settling: Settling) async throws {
        var settling = settling
        var refused = Refused()
        var refusedDeletion: PostgresError?
        var expectsNew = runningCounts.latest.areAllNew && !settling.notesPresence && run != nil
        while true {
            do {
                runningCounts.add(try await commit(batch, settling, refused, expectsNew: expectsNew))
                if let refusedDeletion { throw Failure(refusedDeletion: refusedDeletion) }
                return
            } catch let refusal as RefusedDeletion {
                refusedDeletion = refusal.error
                settling.retraction = .never
            } catch let error as PostgresError where error.isRefusedRow {
                if expectsNew {
                    expectsNew = false
                    continue
                }
                // Once a feature is refused, an older feature with the same code takes its place, and may be refused as well. So
                // after the first search, each search tries all remaining features.
                let known = refused.count
                let candidates =
                    refused.isEmpty
                    ? batch.newest(without: []).indices
                    : batch.records.indices.filter { refused[batch.records[$0].feature.ordinal] == nil }
                try await findRefused(candidates, batch, &refused)
                guard refused.count > known else { throw error }
            }
        }
    }

    // MARK: One transaction

    private func commit(
        _ batch: FeatureBatch, _ settling: Settling, _ refused: Refused, expectsNew: Bool
    ) async throws -> ImportCounts {
        let (newest, olderCount) = batch.newest(without: Set(refused.keys))
        let rejections =
            batch.rejections
            + batch.records.compactMap { record in
                refused[record.feature.ordinal].map {
                    (feature: record.feature, rejection: $0.at(line: record.feature.line))
                }
            }
        return try await connection.write(to: "import a batch") {
            var counts = try await take(newest, of: batch, settling, expectsNew: expectsNew)
            counts.stale += olderCount
            counts.seen = batch.count
            counts.bytes = batch.documentBytes
            counts.rejected = rejections.count
            counts.unchanged = counts.seen - counts.rejected - counts.inserted - counts.updated - counts.stale
            counts.unreadable = try await note(rejections, of: batch, settling)
            counts.unnamed = rejections.count { $0.rejection.reason == .unnamed }
            do {
                try await settling.settle(
                    &counts, before: runningCounts.counts, isDryRun: run == nil, on: connection)
            } catch let error as PostgresError where error.isRefusedRow {
                throw RefusedDeletion(error: error)
            }
            if let run {
                if !rejections.isEmpty {
                    try await connection.execute(
                        MergeStatement.keepRejects(run: run), to: "keep rejected features")
                }
                try await MergeStatement.add(&counts, to: run, on: connection)
            }
            return counts
        }
    }

    /// Streams records into `incoming` and merges them into `quake`. Returns how many records were inserted, updated, or older
    /// than the table's row.
    ///
    /// - Parameter expectsNew: whether to stream the records directly into `quake`, unless a newer document is known. The COPY
    ///   fails if the table already has one of the records.
    private func take(
        _ records: [Int], of batch: FeatureBatch, _ settling: Settling, expectsNew: Bool
    ) async throws -> ImportCounts {
        var counts = ImportCounts()
        if records.isEmpty { return counts }
        let age = try await settling.age(isDryRun: run == nil, on: connection)
        counts.isAhead = age.isAhead
        if expectsNew, !age.isLate {
            counts.inserted = try await connection.copy(records, of: batch, into: "public.quake")
            return counts
        }
        let asksFirst = runningCounts.latest.areMostlyUnchanged
        let needed = asksFirst ? try await needed(records, of: batch, settling) : records
        if needed.isEmpty { return counts }
        try await connection.execute(script: MergeStatement.incomingTable, to: "prepare for features")
        try await connection.copy(needed, of: batch, into: "pg_temp.incoming")
        if let corrector = settling.corrector {
            try await takeBack(&counts, of: batch, settling, corrector)
        }
        if age.isLate { try await settling.sift(&counts, isDryRun: run == nil, on: connection) }
        let statement = run == nil ? MergeStatement.preview(settling) : MergeStatement.merge(settling)
        let row = try await connection.query(statement, to: "merge a batch of \(needed.count) features")[0]
        counts.inserted = try row.decode("inserted")
        counts.updated += try row.decode("updated", as: Int.self)
        counts.stale += try row.decode("stale", as: Int.self)
        return counts
    }

    /// Replaces the versions in the table that are later than the service's versions, unless there are so many that the brake
    /// applies.
    private func takeBack(
        _ counts: inout ImportCounts, of batch: FeatureBatch, _ settling: Settling, _ corrector: String
    ) async throws {
        try await connection.setReason("corrected by \(corrector)")
        let row = try await connection.query(
            MergeStatement.takeBack(batch.count, settling), to: "take back later versions")[0]
        try await connection.setReason(nil)
        counts.updated += try row.decode("taken", as: Int.self)
        if try row.decode("is_braked") {
            counts.brake = BrakeHeld(
                feed: corrector, reverted: try row.decode("later"), total: batch.count)
        }
    }

    /// The records that the table lacks or has with other values. The server is asked about a few thousand records at a time,
    /// which takes little memory.
    private func needed(
        _ records: [Int], of batch: FeatureBatch, _ settling: Settling
    ) async throws -> [Int] {
        var needed: [Int] = []
        var rest = records[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(5000))
            rest = rest.dropFirst(piece.count)
            guard let fingerprints = batch.fingerprints(of: piece) else {
                needed += piece
                continue
            }
            let rows = try await connection.query(
                MergeStatement.needed(fingerprints, batch.seed, settling),
                to: "compare a batch of \(records.count) features")
            let positions = try rows.map { try $0.decode("position", as: Int.self) }
            needed += positions.sorted().map { piece[$0 - 1] }
        }
        return needed
    }

    // MARK: Rejects

    private func note(
        _ rejections: [(feature: FeatureBatch.Feature, rejection: Rejection)], of batch: FeatureBatch,
        _ settling: Settling
    ) async throws -> Int {
        if rejections.isEmpty { return 0 }
        var unreadable = 0
        try await connection.execute(script: MergeStatement.rejectTable, to: "prepare for rejected features")
        try await connection.copy(
            into: "pg_temp.rejected", columns: MergeStatement.rejectedColumns, to: "copy rejected features"
        ) { writer in
            var rows = BinaryRows()
            for (feature, rejection) in rejections {
                // A rejected deletion does not say that its event exists, so its code is left out.
                let code =
                    feature.isDeletion ? nil : try batch.withBytes(of: feature) { readableCode(of: $0) }
                if code == nil, !feature.isDeletion { unreadable += 1 }
                try rows.append(feature, rejection, code, from: batch)
                try await writer.write(rows)
                rows.removeAll()
            }
        }
        if settling.notesPresence {
            try await connection.execute(Settling.noteRejects, to: "note rejected features")
        }
        return unreadable
    }
}

/// A constraint or a trigger of `quake` refuses to delete an event.
private struct RefusedDeletion: Error {
    let error: PostgresError
}

extension Failure {
    /// - Parameter error: the error with which a constraint or a trigger of `quake` refuses a deletion.
    init(refusedDeletion error: PostgresError) {
        self.init(
            .badData,
            "the table quake refuses a deletion: \(error.message); nothing was deleted; if the constraint or trigger is yours, let it allow deletions"
        )
    }
}

extension Connection {
    /// Copies records in pieces of about 128 KiB. Returns how many rows the server took.
    @discardableResult
    func copy(_ records: [Int], of batch: FeatureBatch, into table: String) async throws -> Int {
        try await copy(
            into: table, columns: MergeStatement.incomingColumns,
            to: "copy a batch of \(records.count) features"
        ) { writer in
            var rows = BinaryRows()
            for index in records {
                try batch.append(batch.records[index], to: &rows)
                if rows.count >= 128 << 10 {
                    try await writer.write(rows)
                    rows.removeAll()
                }
            }
            try await writer.write(rows)
        }
    }
}

extension BinaryRows {
    /// Appends one row of `rejected`, with at most 64 KiB of the feature's bytes.
    fileprivate mutating func append(
        _ feature: FeatureBatch.Feature, _ rejection: Rejection, _ code: String?, from batch: FeatureBatch
    ) throws {
        try batch.withSource(of: feature) { bytes in
            let kept = UnsafeBufferPointer(rebasing: bytes.prefix(FeatureScanner.keptOfOversized))
            let message = Array(rejection.message.utf8)
            let size = kept.count + message.count + (code?.utf8.count ?? 0)
            appendRow(columns: MergeStatement.rejectedColumns.count, capacity: size + 1024) { row in
                row.appendInteger(Int64(feature.ordinal))
                row.appendInteger(Int64(feature.offset))
                row.appendBytes(rejection.reason.rawValue.utf8)
                row.appendBytes(message)
                row.appendBytes(kept)
                row.appendInteger(Int64(feature.size))
                if let code { row.appendBytes(code.utf8) } else { row.appendNull() }
            }
        }
    }
}
