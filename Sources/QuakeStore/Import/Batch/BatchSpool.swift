/// Bytes that are written once and read back. Only the last few MiB stay in memory; older bytes are in a temporary file
/// without a name, which is gone with the process. A small spool never touches the disk.
///
/// What is appended in one piece can be read back in one piece.
final class BatchSpool {
    private let memoryLimit: Int

    private var file: TemporaryFile?
    /// The bytes before this offset are in the file, the others in `tail`.
    private var fileCount = 0
    private var tail: [UInt8] = []

    init(memoryLimit: Int) {
        self.memoryLimit = memoryLimit
    }

    var count: Int { fileCount + tail.count }

    /// Appends bytes and returns their range.
    ///
    /// - Throws: `TemporaryFileError` when the temporary file can't be written.
    func append(_ bytes: UnsafeBufferPointer<UInt8>) throws -> Range<Int> {
        if tail.isEmpty { tail.reserveCapacity(memoryLimit) }
        if tail.count + bytes.count > memoryLimit { try moveToFile() }
        let start = count
        tail.append(contentsOf: bytes)
        return start..<start + bytes.count
    }

    /// Hands over bytes that were appended in one piece: all of the piece, or part of it.
    ///
    /// - Throws: `TemporaryFileError` when the temporary file can't be read.
    func withBytes<Result>(
        _ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        if range.lowerBound >= fileCount {
            return try tail.withUnsafeBufferPointer {
                try body($0.extracting(range.lowerBound - fileCount..<range.upperBound - fileCount))
            }
        }
        return try (file?.read(range) ?? []).withUnsafeBufferPointer(body)
    }

    /// Discards everything, but keeps the file for later use.
    func removeAll() {
        fileCount = 0
        tail.removeAll(keepingCapacity: true)
    }

    private func moveToFile() throws {
        let file = try self.file ?? TemporaryFile()
        self.file = file
        try tail.withUnsafeBytes { try file.write($0, at: fileCount) }
        fileCount += tail.count
        tail.removeAll(keepingCapacity: true)
    }
}
