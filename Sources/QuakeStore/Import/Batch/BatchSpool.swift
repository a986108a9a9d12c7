/// Bytes that are written once and read back. Only the last few MiB stay in memory; older bytes are in a temporary file
/// without a name, which disappears with the process. A small spool never touches the disk.
///
/// The bytes of one `append` can be read back in one call.
final class BatchSpool {
    private let memoryLimit: Int

    private var file: TemporaryFile?
    /// The bytes before this offset are in the file, the others in `tail`.
    private var fileCount = 0
    private var tail: [UInt8] = []
    /// A copy of the file's bytes, if they were read ahead.
    private var head: [UInt8] = []

    init(memoryLimit: Int) {
        self.memoryLimit = memoryLimit
    }

    var count: Int { fileCount + tail.count }

    /// - Throws: `Failure` when the temporary file can't be written.
    func append(_ bytes: UnsafeBufferPointer<UInt8>) throws -> Range<Int> {
        if tail.isEmpty { tail.reserveCapacity(memoryLimit) }
        if tail.count + bytes.count > memoryLimit { try moveToFile() }
        let start = count
        tail.append(contentsOf: bytes)
        return start..<start + bytes.count
    }

    /// Calls `body` with the bytes in `range`, which must lie within the bytes of one `append`.
    ///
    /// - Throws: `Failure` when the temporary file can't be read.
    func withBytes<Result>(
        _ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        if range.lowerBound >= fileCount {
            return try tail.withUnsafeBufferPointer {
                try body($0.extracting(range.lowerBound - fileCount..<range.upperBound - fileCount))
            }
        }
        if !head.isEmpty { return try head.withUnsafeBufferPointer { try body($0.extracting(range)) } }
        return try (file?.read(range) ?? []).withUnsafeBufferPointer(body)
    }

    /// Reads all of the file's bytes at once, if there are at most `limit`. Without this call, each piece takes a separate read
    /// of the file.
    ///
    /// - Parameter room: the buffer for the bytes. It belongs to the spool until `removeAll` returns it.
    /// - Throws: `Failure` when the temporary file can't be read.
    func readAhead(atMost limit: Int, into room: inout [UInt8]) throws {
        guard let file, fileCount > 0, fileCount <= limit else { return }
        if room.count < fileCount { room = [UInt8](repeating: 0, count: fileCount) }
        try room.withUnsafeMutableBytes { try file.read(.init(rebasing: $0[..<fileCount]), at: 0) }
        swap(&head, &room)
    }

    /// Discards everything, but keeps the file for later use. Returns the buffer that was given to `readAhead`.
    @discardableResult
    func removeAll() -> [UInt8] {
        fileCount = 0
        tail.removeAll(keepingCapacity: true)
        defer { head = [] }
        return head
    }

    private func moveToFile() throws {
        let file = try self.file ?? TemporaryFile()
        self.file = file
        try tail.withUnsafeBytes { try file.write($0, at: fileCount) }
        fileCount += tail.count
        tail.removeAll(keepingCapacity: true)
    }
}
