import Feed
import PostgreSQL

/// The deletions that a document or a sweep states, kept until the document or sweep is settled. Because the first sweep of a
/// service may have a million deletions, only the last few thousand are in memory, and the others are in the temporary table
/// `pg_temp.stated`.
struct StatedDeletions {
    /// When at least this many deletions are in memory, `isFull` is true, and the caller should call `store`. One `append` can
    /// exceed the limit.
    static let limitInMemory = 5_000

    private(set) var inMemory: [StatedDeletion] = []
    private var stored = 0

    var count: Int { stored + inMemory.count }
    var isFull: Bool { inMemory.count >= Self.limitInMemory }

    mutating func append(_ deletions: some Sequence<StatedDeletion>) {
        inMemory.append(contentsOf: deletions)
    }

    /// Moves the deletions from memory to the table. The first call creates the table, or empties it. A deletion without a
    /// service gets `service`, and a deletion without a time gets `moment`.
    mutating func store(of service: String, at moment: Instant, on connection: Connection) async throws {
        if stored == 0 {
            try await connection.execute(
                script: MergeStatement.quietly(
                    """
                    create temporary table if not exists stated (
                        code text not null, deleted_at timestamptz not null, service text not null);
                    truncate pg_temp.stated
                    """), to: "prepare for deletions")
        }
        try await connection.copy(
            into: "pg_temp.stated", columns: ["code", "deleted_at", "service"], to: "copy deletions"
        ) { [inMemory] writer in
            var rows = BinaryRows()
            for deletion in inMemory {
                let (code, service) = (deletion.code.utf8, (deletion.service ?? service).utf8)
                rows.appendRow(columns: 3, capacity: code.count + service.count + 64) { row in
                    row.appendBytes(code)
                    row.appendInteger(Instant.microsecondsSince2000((deletion.at ?? moment).milliseconds))
                    row.appendBytes(service)
                }
            }
            try await writer.write(rows)
        }
        stored += inMemory.count
        inMemory.removeAll(keepingCapacity: true)
    }
}
