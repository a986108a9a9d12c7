import Feed
import PostgreSQL

/// Follows the changes of another Quakes server over HTTP, so that the table here becomes equal to the table there.
///
/// An answer has all changes after a position, and ends with the next position. One transaction imports the changes and the
/// position, so after a crash at any point, the next run resumes exactly at the last imported position. If the position is no
/// longer valid, the other server sends all its rows instead.
struct Mirror {
    let stream: ChangesSource
    let log: RunLog
    let options: Importer.Options

    private var connection: Connection { log.connection }

    /// How long an answer may wait for a change, in seconds.
    static func patience(_ options: Importer.Options) -> Int {
        if options.every == nil { return 0 }
        return min(20, options.timeout.map { Int($0 / .seconds(2)) } ?? 20)
    }

    /// - Returns: the summary. If nothing has changed, its outcome is `notModified`, and no run is recorded.
    func run(_ progress: (Importer.Progress) -> Void) async throws -> ImportSummary {
        let start = ContinuousClock.now
        var summary = ImportSummary(source: log.source)
        summary.feed = "\(log.source)"
        do {
            let position = try await position()
            // Without a position, the run begins now. With a position, the answer may be that nothing has changed; then no run is
            // recorded.
            if position == nil, !options.isDryRun { summary.run = try await log.begin() }
            let lines = try await read(after: position, progress)
            if lines.isPositionOnly, let position {
                if let reached = lines.position, reached != position { try await move(to: reached) }
                var unchanged = ImportSummary(source: log.source)
                unchanged.outcome = .notModified
                return unchanged
            }
            if summary.run == nil, !options.isDryRun { summary.run = try await log.begin() }
            summary.counts = try await take(lines, summary.run)
            if let brake = summary.counts.brake { throw brake }
        } catch {
            summary.fail(error, options)
            // If a daemon is stopped while it waits for a change, no run is recorded.
            if summary.run == nil, !options.isDryRun, options.every == nil || summary.outcome == .failed {
                summary.run = try await connection.shieldingFromCancellation(within: .seconds(5)) {
                    try await log.begin()
                }
            }
        }
        summary.duration = .now - start
        return summary
    }

    private func position() async throws -> String? {
        try await connection.query(
            "select position from import.mirror where source = \(log.name)", to: "read the position"
        ).first?.decode("position")
    }

    /// Stores a position that no change of an event precedes.
    private func move(to position: String) async throws {
        if options.isDryRun { return }
        try await connection.execute(
            "update import.mirror set position = \(position) where source = \(log.name)",
            to: "store the position")
    }

    private func read(
        after position: String?, _ progress: (Importer.Progress) -> Void
    ) async throws -> StreamLines {
        let url = stream.poll(after: position, waiting: Self.patience(options))
        var lines = StreamLines(of: stream.host)
        try await FeedSource.url(url).read(options: options.fetch) { chunk in
            try lines.append(chunk)
            progress(Importer.Progress(bytes: lines.byteCount, features: lines.count, arrival: Arrival()))
        }
        try lines.finish()
        return lines
    }

    // MARK: One transaction

    private func take(_ lines: StreamLines, _ run: Int?) async throws -> ImportCounts {
        let operation = "import the changes"
        do {
            return run == nil
                ? try await connection.trying(to: operation) { try await write(lines, nil) }
                : try await connection.write(to: operation) { try await write(lines, run) }
        } catch let error as PostgresError where error.isRefusedValue && error.sqlState != "23514" {
            throw Failure.brokenStream(from: stream.host, error.message)
        } catch let error as PostgresError where error.isRefusedRow {
            throw Failure(
                .badData,
                "the table quake refuses an event of \(stream.host): \(error.message); nothing was imported; a mirror can leave out no event, so if the constraint or trigger is yours, remove it"
            )
        }
    }

    private func write(_ lines: StreamLines, _ run: Int?) async throws -> ImportCounts {
        try await connection.execute(script: MirrorStatement.preparation, to: "prepare for changes")
        try await connection.copy(
            into: "pg_temp.mirrored", columns: ["ordinal", "line"], to: "copy the changes"
        ) { writer in
            var ordinal: Int64 = 0
            try await lines.forEachPiece { piece in
                var rows = BinaryRows()
                for line in piece.split(separator: UInt8(ascii: "\n")) {
                    ordinal += 1
                    rows.appendRow(columns: 2, capacity: line.count + 64) { row in
                        row.appendInteger(ordinal)
                        row.appendJSONB(line)
                    }
                }
                try await writer.write(rows)
            }
        }
        let row = try await connection.query(
            """
            select fault, word, seen, inserted, updated, deleted, total, is_braked
            from pg_temp.take_changes(
                \(log.name), \(stream.host), \(options.retraction == .force), \(options.retraction == .never))
            """, to: "import the changes")[0]
        if let fault = try row.decodeIfPresent("fault", as: String.self) {
            throw Failure.brokenStream(from: stream.host, fault)
        }
        guard Position(word: try row.decode("word")) != nil else {
            throw Failure.brokenStream(from: stream.host, "its last line is not a position")
        }
        var counts = ImportCounts()
        counts.seen = try row.decode("seen")
        counts.inserted = try row.decode("inserted")
        counts.updated = try row.decode("updated")
        counts.retracted = try row.decode("deleted")
        counts.unchanged = counts.seen - counts.inserted - counts.updated
        counts.bytes = lines.byteCount
        if try row.decode("is_braked") {
            counts.brake = BrakeHeld(
                feed: stream.host, missing: counts.retracted, total: try row.decode("total"),
                place: "in this table")
            counts.retracted = 0
        }
        if let run { try await MergeStatement.add(&counts, to: run, on: connection) }
        return counts
    }
}

extension Failure {
    /// The answer of another server is not a stream of changes.
    fileprivate static func brokenStream(from host: String, _ reason: String) -> Failure {
        Failure(
            .badData,
            """
            \(host) does not send the changes of a Quakes server: \(reason); nothing was imported; \
            check that a Quakes server answers at this URL
            """)
    }
}

/// The lines of one answer, in constant memory. All lines are added before the first line is read.
struct StreamLines: @unchecked Sendable {
    /// The greatest length of a line, in bytes. A change has at most two versions of an event. Each version came from a feature
    /// of at most 1 MiB.
    static let longestLine = 8 << 20

    private let host: String
    private let spool = BatchSpool(memoryLimit: 4 << 20)
    private var pieces: [Range<Int>] = []
    private(set) var rest: [UInt8] = []
    private(set) var byteCount = 0
    private(set) var count = 0
    private var lastLine: [UInt8] = []

    init(of host: String) {
        self.host = host
    }

    var isPositionOnly: Bool { count == 1 && lastLine.starts(with: Self.beginning) }
    /// The word of the position in the last line; nil without such a line.
    var position: String? { Position(json: lastLine)?.word }

    private static let beginning = Array(#"{"store":"#.utf8)
    private static let lineFeed = UInt8(ascii: "\n")

    mutating func append(_ chunk: [UInt8]) throws {
        byteCount += chunk.count
        guard rest.count + (chunk.firstIndex(of: Self.lineFeed) ?? chunk.count) <= Self.longestLine else {
            throw Failure.brokenStream(
                from: host, "line \(count + 1) is longer than \(Self.longestLine >> 20) MiB")
        }
        guard let end = chunk.lastIndex(of: Self.lineFeed) else {
            rest += chunk
            return
        }
        let lines = rest + chunk[...end]
        for line in lines.split(separator: Self.lineFeed) {
            count += 1
            lastLine = Array(line.prefix(1000))
        }
        try lines.withUnsafeBufferPointer { pieces.append(try spool.append($0)) }
        rest = Array(chunk[(end + 1)...])
    }

    /// - Throws: `Failure` if the answer does not end with a position.
    func finish() throws {
        guard rest.isEmpty, lastLine.starts(with: Self.beginning) else {
            throw Failure.brokenStream(from: host, "its answer does not end with a position")
        }
    }

    func forEachPiece(_ body: ([UInt8]) async throws -> Void) async throws {
        for piece in pieces { try await body(try spool.withBytes(piece) { Array($0) }) }
    }
}
