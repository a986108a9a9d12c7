import Feed
import Foundation
import QuakeStore
import QuakeView

/// The file in which a stream keeps its position. It contains the last line of the newest complete pass, with the table's shape
/// added. Only one process at a time can use it.
struct TokenFile: Sendable {
    let path: String
    private let lock: FollowerLock

    init(_ path: String) throws {
        lock = try FollowerLock(path)
        self.path = lock.path
    }

    /// The stream's position, and the shape of the table whose rows were written; nil when there is no file yet.
    func kept() throws -> (position: Position, shape: String)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Failure(cannot: "read", path, code: errno)
        }
        defer { close(descriptor) }
        // The buffer is longer than any position.
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw Failure(cannot: "read", path, code: errno) }
        let content = Array(bytes[..<count])
        guard let position = Position(json: content),
            let stored = try? JSONDecoder().decode(Stored.self, from: Data(content))
        else {
            throw Failure(
                .badData,
                "\(path) does not hold the position of a stream; remove it to start over with a snapshot")
        }
        return (position, stored.shape)
    }

    private struct Stored: Decodable {
        let shape: String
    }

    /// Stores the position, and the shape of the table whose rows were written. Returns once they are on disk.
    func store(_ position: Position, of table: TableShape) throws {
        try ReplacedFile(path: path).write(position.json(of: table) + "\n", isDurable: true)
    }
}
