/// Bytes that are written once and read back. Only the last few MiB stay in memory; older bytes are in a temporary file
/// without a name, which is gone with the process. A small spool never touches the disk.
///
/// What is appended in one piece can be read back in one piece.
final class Spool {
    private let memoryLimit: Int
    private let readAhead: Int

    private(set) var count = 0
    private var file: TemporaryFile?
    /// The bytes before this offset are in the file, the others in `tail`.
    private var fileCount = 0
    private var tail: [UInt8] = []
    private var window: [UInt8] = []
    private var windowStart = 0

    /// - Parameter readAhead: how many bytes to read from the file at once, for pieces that are read in order; at least
    ///   the piece itself is read.
    init(memoryLimit: Int, readAhead: Int = 256 << 10) {
        self.memoryLimit = memoryLimit
        self.readAhead = readAhead
    }

    /// Appends bytes and returns their range.
    ///
    /// - Throws: `TemporaryFileError` when the temporary file can't be written.
    func append(_ bytes: UnsafeBufferPointer<UInt8>) throws -> Range<Int> {
        if tail.isEmpty { tail.reserveCapacity(memoryLimit) }
        if tail.count + bytes.count > memoryLimit { try moveToFile() }
        tail.append(contentsOf: bytes)
        count += bytes.count
        return count - bytes.count..<count
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
        if range.lowerBound < windowStart || range.upperBound > windowStart + window.count {
            try readWindow(range)
        }
        return try window.withUnsafeBufferPointer {
            try body($0.extracting(range.lowerBound - windowStart..<range.upperBound - windowStart))
        }
    }

    /// Discards everything, but keeps the file for later use.
    func removeAll() {
        count = 0
        fileCount = 0
        tail.removeAll(keepingCapacity: true)
        window = []
    }

    private func moveToFile() throws {
        let file = try self.file ?? TemporaryFile()
        self.file = file
        try tail.withUnsafeBytes { try file.write($0, at: fileCount) }
        fileCount += tail.count
        tail.removeAll(keepingCapacity: true)
    }

    private func readWindow(_ range: Range<Int>) throws {
        let wanted = min(max(range.count, readAhead), fileCount - range.lowerBound)
        // The old window's memory goes before the new one's is taken.
        window = []
        window = try file?.read(range.lowerBound..<range.lowerBound + wanted) ?? []
        windowStart = range.lowerBound
    }
}
