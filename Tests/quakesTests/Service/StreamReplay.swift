import Foundation
import TestSupport

/// Applies the lines of `quakes follow --format ndjson` by the rules for consumers in docs/following.md.
struct StreamReplay {
    private(set) var rows: [String: NSDictionary] = [:]
    /// `token.ordinal` of each change that arrived.
    private(set) var changes: Set<String> = []
    /// The number of lines that killed processes left unfinished.
    private(set) var tornLines = 0
    private(set) var lineCount = 0
    /// The first line that is out of order: in the same life of the follower, an earlier line has a later change.
    private(set) var disorder: String?

    /// - Parameter lives: The length of the stream at the beginning of each life of the follower.
    init(_ stream: Data, lives: [Int]) throws {
        var last = (token: 0, ordinal: 0)
        var lives = lives[...]
        for line in stream.split(separator: UInt8(ascii: "\n")) {
            lineCount += 1
            guard let object = Self.object(line) else {
                tornLines += 1
                continue
            }
            if let beginning = lives.first, line.startIndex >= beginning {
                lives = lives.drop { $0 <= line.startIndex }
                last = (0, 0)
            }
            if let token = object["token"] as? Int {
                let place = (token, object["ordinal"] as? Int ?? Int.max)
                if place < last { disorder = disorder ?? String(decoding: line, as: UTF8.self) }
                last = place
            }
            try apply(object)
        }
    }

    /// Returns nil if the line is incomplete.
    private static func object(_ line: Data) -> [String: Any]? {
        do {
            return try JSONSerialization.jsonObject(with: line) as? [String: Any]
        } catch {
            return nil
        }
    }

    private mutating func apply(_ object: [String: Any]) throws {
        if object["snapshot"] != nil { rows = [:] }
        if let key = object["key"] as? String, let token = object["token"], let ordinal = object["ordinal"] {
            changes.insert("\(token).\(ordinal)")
            if object["operation"] as? String == "delete", object["row"] is NSNull { rows[key] = nil }
        }
        if let row = object["row"] as? [String: Any], let code = row["code"] as? String {
            rows[code] = NSDictionary(dictionary: row)
        }
    }

    /// The rows of the table, which a complete replay must equal.
    static func table(of database: TestDatabase) async throws -> [String: NSDictionary] {
        let rows = try await database.with("-cTimeZone=UTC").query(
            "select code, to_jsonb(quake)::text as row from quake")
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                let text: String = try row.decode("row")
                return (
                    try row.decode("code"),
                    object(Data(text.utf8)).map { NSDictionary(dictionary: $0) } ?? [:]
                )
            })
    }
}
