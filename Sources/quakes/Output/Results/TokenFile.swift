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
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let stored = try? decoder.decode(Stored.self, from: Data(bytes[..<count])),
            let position = stored.position
        else {
            throw Failure(
                .badData,
                "\(path) does not hold the position of a stream; remove it to start over with a snapshot")
        }
        return (position, stored.shape)
    }

    private struct Stored: Decodable {
        let store: String
        let token: Int
        let committedAt: String
        let nonce: String
        let shape: String

        var position: Position? { Position(word: "\(token)_\(committedAt)_\(nonce)_\(store)") }
    }

    /// Stores the position, and the shape of the table whose rows were written. Returns once they are on disk.
    func store(_ position: Position, of table: TableShape) throws {
        try ReplacedFile(path: path).write(position.json(of: table) + "\n", isDurable: true)
    }
}
