import EmbeddedFiles
import Feed

/// One step of the schema, embedded in the executable.
public struct Migration: Sendable {
    /// Migrations are applied in the order of their numbers, which start at 1 and have no gaps.
    public let number: Int
    public let name: String
    private let bytes: [UInt8]
    /// The 64-bit FNV-1a hash of the text in UTF-8, as 16 hexadecimal digits. It shows whether a migration was edited.
    ///
    /// The hash only has to detect accidental edits: an attacker who may write to the database can do harm without a collision. A
    /// cryptographic hash would need another package, or the server would have to compute it from every migration's text at every
    /// connection.
    public let checksum: String

    private init(_ number: Int, _ name: String, _ bytes: [UInt8]) {
        self.number = number
        self.name = name
        self.bytes = bytes
        checksum = bytes.hashText
    }

    public var sql: String { String(decoding: bytes, as: UTF8.self) }

    /// The file's name without its ending, such as `0001_history`.
    public var title: String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_" + name
    }

    /// All migrations. To add one, add a file to `migrations` and a line in `CEmbedded/embedded.c`; a test notices if the line is
    /// missing. Never edit a published migration: databases store its checksum.
    public static let all = EmbeddedFiles.inFolder("migrations").sorted { $0.key < $1.key }
        .map { file, bytes in
            let title = file.dropLast(".sql".count)
            return Migration(Int(title.prefix(4)) ?? 0, String(title.dropFirst(5)), bytes)
        }
}
