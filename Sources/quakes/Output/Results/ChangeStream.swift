import Feed
import Glibc
import QuakeStore
import Synchronization

/// The changes as lines of JSON on standard output.
///
///     {"snapshot":"first start"}                            forget everything; rows follow
///     {"row":{…}}                                           a row of the snapshot
///     {"token":7,…,"operation":"update","before":{…},"row":{…}}   a change
///     {"store":"…","token":7,"committed_at":"…",…}          the end of a pass, and the reader's new position
final class ChangeStream: ReaderView {
    /// nil if no position is kept. Each start then begins with a snapshot.
    private let tokenFile: TokenFile?
    /// The current position, and the shape of the table at that position, if it is known. Without a file, the position is kept
    /// only here.
    private let reached: Mutex<(position: Position?, shape: String?)>
    private let output = Mutex(LineBuffer())

    init(tokenFile: TokenFile?) throws {
        self.tokenFile = tokenFile
        let kept = try tokenFile?.kept()
        reached = Mutex((kept?.position, kept?.shape))
        StandardOutput.endTornLine()
    }

    func position() -> Position? { reached.withLock { $0.position } }

    func accepts(_ table: TableShape) -> Bool {
        reached.withLock { $0.shape.map { $0 == table.signature } ?? true }
    }

    func apply(_ pass: Pass) async throws -> Position {
        output.withLock { $0.begin() }
        if let reason = pass.freshStart {
            let line: JSONObject = ["snapshot": reason.description]
            try output.withLock { try $0.append(line.jsonText) }
        }
        let position = try await pass.forEachLine { line in
            try output.withLock { try $0.append(line) }
        }
        try output.withLock {
            try $0.append(position.json)
            try $0.flush()
        }
        if let tokenFile {
            // The position must not be on disk before the lines: a crash could lose the lines and keep the position.
            StandardOutput.synchronize()
            try tokenFile.store(position, of: pass.table)
        }
        reached.withLock { $0 = (position, pass.table.signature) }
        return position
    }
}

/// Buffers lines for standard output.
private struct LineBuffer {
    private var bytes: [UInt8] = []
    /// Whether the last write ended in the middle of a line.
    private var isTorn = false
    private static let capacity = 65_536

    /// Begins a pass. Drops the lines that an interrupted pass left in the buffer, and ends the line that it wrote only in part.
    /// Otherwise the next line would be appended to that part, and lost.
    mutating func begin() {
        bytes.removeAll(keepingCapacity: true)
        if isTorn { bytes.append(UInt8(ascii: "\n")) }
    }

    mutating func append(_ line: UnsafeRawBufferPointer) throws {
        bytes.append(contentsOf: line)
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count >= Self.capacity { try flush() }
    }

    mutating func append(_ line: String) throws {
        try Array(line.utf8).withUnsafeBytes { try append($0) }
    }

    /// Writes the buffered bytes. The task can be cancelled even if the reader of a pipe has stopped reading.
    mutating func flush() throws {
        try bytes.withUnsafeBytes { all in
            var rest = all
            while !rest.isEmpty {
                var descriptor = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                guard poll(&descriptor, 1, 100) > 0 else {
                    try Task.checkCancellation()
                    continue
                }
                // A pipe that is ready takes this much without blocking (POSIX: PIPE_BUF).
                let count = min(rest.count, 4096)
                StandardOutput.write(UnsafeRawBufferPointer(rebasing: rest[..<count]))
                isTorn = rest[count - 1] != UInt8(ascii: "\n")
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
        bytes.removeAll(keepingCapacity: true)
    }
}
