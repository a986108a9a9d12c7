import Foundation
import TestSupport
import Testing

@testable import QuakeStore
@testable import quakes

@Suite("quakes changes")
struct ChangesCommandTests {
    let server = TestServer.shared

    @Test(
        "An insert and a delete are shown with magnitude and place, and an update with the old and new values"
    )
    func table() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures(
                [SmallFeed.feature("a", place: "12 km SSW of Ridgecrest, CA", magnitude: "4.26")])
            try await database.query(
                """
                update quake set magnitude = 4.4, title = 'M 4.4', status = 'reviewed', updated = '2020-01-01 00:00:01.5Z'
                """
            )
            try await database.query(
                """
                update quake set time = '2020-01-01 00:00:01.25Z', types = '{origin,dyfi}'
                """)
            try await database.query(
                "update quake set types = '{dyfi,shakemap}', place = null, depth = 7.12345")
            try await database.execute(
                "set history.reason = 'a correction'; update quake set updated = '2020-01-01 00:00:09Z'")
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            _ = try await quakes.run("delete", "q0a", "--reason", "superseded by q0b")

            let lines = try await quakes.run("changes").lines.dropFirst()

            let stories = lines.map { line in
                line.firstRange(of: "q0a").map { String(line[$0.upperBound...]).trimmingPrefix { $0 == " " } }
                    ?? ""
            }
            #expect(
                stories == [
                    "inserted M 4.3, 12 km SSW of Ridgecrest, CA",
                    "magnitude 4.26 → 4.4, status – → reviewed",
                    "time 1970-01-01 00:00:01 → 2020-01-01 00:00:01, types – → origin dyfi",
                    "place 12 km SSW of Ridgecrest, CA → –, types +shakemap −origin, depth 30 → 7.123",
                    "updated 2020-01-01 00:00:01 → 2020-01-01 00:00:09 (a correction)",
                    "deleted M 4.4 (superseded by q0b)",
                ])
            #expect(lines.allSatisfy { $0.firstMatch(of: #/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  /#) != nil })
        }
    }

    @Test("At a terminal of 80 columns, a change may take several lines")
    func narrow() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([
                SmallFeed.feature("a", place: "12 km SSW of Ridgecrest, CA", magnitude: "4.26")
            ])
            try await database.query(
                "update quake set place = '14 km SW of Searles Valley, CA', magnitude = 4.4, depth = 7.5")
            let shown = try await QuakesCommand(["DATABASE_URL": database.url, "NO_COLOR": "1"])
                .runAtTerminal(["changes"]).output
            for line in shown.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
            let words = shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(
                words.hasSuffix(
                    "magnitude 4.26 → 4.4, place 12 km SSW of Ridgecrest, CA → 14 km SW of Searles Valley, CA, depth 30 → 7.5"
                ), "\(shown)")
        }
    }

    @Test(
        "Values are shortened, unless they would then look the same",
        arguments: [
            ("magnitude", "4.1", "4.3", "magnitude 4.1 → 4.3"),
            ("depth", "10", "9.87654321", "depth 10 → 9.877"),
            ("rms", "0.12341", "0.12339", "rms 0.12341 → 0.12339"),
            ("felt", "null", "12", "felt – → 12"),
            ("tsunami", "false", "true", "tsunami false → true"),
            (
                "time", "\"2020-01-01T00:00:01.25+00:00\"", "\"2020-01-01T00:00:01.5+00:00\"",
                "time 2020-01-01T00:00:01.250Z → 2020-01-01T00:00:01.500Z"
            ),
            ("place", "\"a \\\"b\\\"\"", "\"\\u00e9\"", "place a \"b\" → é"),
            ("sources", "[\"us\", \"ci\"]", "[\"us\", \"nn\"]", "sources +nn −ci"),
            ("sources", "[\"us\", \"ci\"]", "[\"ci\", \"us\"]", "sources in another order"),
            ("sources", "[]", "null", "sources  → –"),
            ("sources", "[\"\\u00e9\"]", "[\"e\\u0301\"]", "sources +e\u{301} −\u{E9}"),
            ("extra", "{\"a\": 1}", "null", "extra {\"a\": 1} → –"),
            ("unknown", "\"2020-01-01\"", "1", "unknown 2020-01-01 → 1"),
        ])
    func member(column: String, old: String, new: String, story: String) {
        #expect(Change.Member(column: column, old: old, new: new).story == story)
    }

    @Test("--limit keeps the newest changes; with --after it keeps the first ones after the token")
    func limit() async throws {
        try await server.withDatabase { database in
            for code in 1...6 { try await database.importFeatures([SmallFeed.feature("c\(code)")]) }
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            func tokens(_ options: String...) async throws -> [Int] {
                let outcome = try await quakes.run(["changes", "--format", "ndjson"] + options)
                return try outcome.lines.map { line in
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    return try #require(object?["token"] as? Int)
                }
            }

            #expect(try await tokens() == [1, 2, 3, 4, 5, 6])
            #expect(try await tokens("--limit", "0") == [1, 2, 3, 4, 5, 6])
            #expect(try await tokens("--limit", "2") == [5, 6])
            #expect(try await tokens("--limit", "9223372036854775807") == [1, 2, 3, 4, 5, 6])
            #expect(try await tokens("--after", "2", "--limit", "2") == [3, 4])
            #expect(try await tokens("--after", "2", "--limit", "9223372036854775807") == [3, 4, 5, 6])
            #expect(try await tokens("--code", "q0c3", "--limit", "1") == [3])
            #expect(try await tokens("--after", "6") == [])
            let future = try await quakes.run("changes", "--after", "7")
            #expect(future.status == 66)
            #expect(future.errors.contains("the moment is in the future; the newest token is 6"))
        }
    }

    @Test("Paging by 100 reads every change exactly once, even with large transactions")
    func pages() async throws {
        try await server.withDatabase { database in
            for (name, count) in [("a", 1), ("b", 250), ("c", 99), ("d", 100), ("e", 12), ("f", 140)] {
                try await database.importFeatures((0..<count).map { SmallFeed.feature("\(name)\($0)") })
            }
            try await database.query("update quake set magnitude = 2 where code like 'q0b1%'")
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            func codes(_ options: [String]) async throws -> [(token: Int, code: String)] {
                let outcome = try await quakes.run(["changes", "--format", "ndjson"] + options)
                return try outcome.lines.map { line in
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    return (
                        try #require(object?["token"] as? Int), try #require(object?["code"] as? String)
                    )
                }
            }
            for options in [[], ["--code", "q0b1"]] {
                let all = try await codes(options)
                for limit in [1, 100] {
                    var (read, after) = ([(token: Int, code: String)](), 0)
                    while true {
                        let page = try await codes(options + ["--after", "\(after)", "--limit", "\(limit)"])
                        read += page
                        guard page.count >= limit, let last = page.last else { break }
                        after = last.token
                    }
                    #expect(read.elementsEqual(all, by: ==), "\(read.count) of \(all.count), by \(limit)")
                }
            }
        }
    }
}
