import Feed
import Foundation
import QuakeStore
import QuakeView

/// The file in which a stream keeps its position: the line that ends each pass, and in it the table's shape. The file is always
/// replaced as a whole, and only one process at a time can use it.
struct TokenFile: Sendable {
    let path: String
    private let lock: FollowerLock

    init(_ path: String) throws {
        lock = try FollowerLock(path)
        self.path = lock.path
    }

    /// Where the stream is, and the shape of the table whose rows it has written; nil when there is no file yet.
    func kept() throws -> (position: Position, shape: String)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read", path)
        }
        defer { close(descriptor) }
        // Longer than any position.
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw failure("read", path) }
        guard let stored = Stored(Data(bytes[..<count])), let position = stored.position else {
            throw UnreadableTokenFile(path: path)
        }
        return (position, stored.shape)
    }

    private struct Stored: Decodable {
        let store: String
        let token: Int
        let committedAt: String
        let nonce: String
        let shape: String

        enum CodingKeys: String, CodingKey {
            case store, token, nonce, shape
            case committedAt = "committed_at"
        }

        /// nil when it is not a position.
        init?(_ json: Data) {
            do {
                self = try JSONDecoder().decode(Stored.self, from: json)
            } catch {
                return nil
            }
        }

        var position: Position? { Position(word: "\(token)_\(committedAt)_\(nonce)_\(store)") }
    }

    /// Returns once the position, and the shape of the table whose rows were written, are on disk.
    func store(_ position: Position, of table: TableShape) throws {
        let new = path + ".new"
        let bytes = Array((position.json(of: table) + "\n").utf8)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("open", new) }
        defer { close(descriptor) }
        guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw failure("write", new)
        }
        guard rename(new, path) == 0 else { throw failure("replace", path) }
    }

    private func failure(_ operation: String, _ path: String) -> FileError {
        FileError(operation: operation, path: path, code: errno)
    }
}

/// The file holds something other than a position.
struct UnreadableTokenFile: Error, CustomStringConvertible {
    let path: String

    var description: String {
        "\(path) does not hold the position of a stream; remove it to start over with a snapshot"
    }
}
