/// One step of the schema, carried inside the executable.
public struct Migration: Sendable {
    /// Steps are applied in the order of their numbers, from 1, without gaps.
    public let number: Int
    public let name: String
    public let sql: String

    private init(_ number: Int, _ name: String, _ bytes: [UInt8]) {
        self.number = number
        self.name = name
        sql = String(decoding: bytes, as: UTF8.self)
    }

    /// The file's name without its ending, such as `0001_quake`.
    public var title: String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_" + name
    }

    /// Every migration. A new one is a file here, a line in `Package.swift` and a line below; a test tells when
    /// one of the three is missing. A published one is never edited: databases remember its checksum.
    public static let all = [
        // SwiftPM writes an underscore for the first digit.
        Migration(1, "quake", PackageResources._001_quake_sql),
        Migration(2, "history", PackageResources._002_history_sql),
        Migration(3, "following", PackageResources._003_following_sql),
        Migration(4, "settle", PackageResources._004_settle_sql),
        Migration(5, "report", PackageResources._005_report_sql),
        Migration(6, "pass", PackageResources._006_pass_sql),
    ]
}
