import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Alerts

@Suite("Alerts: time zones") struct ZoneTests {
    @Test(arguments: [
        ("Europe/Berlin", "2026-03-29T00:59:59Z", "UTC+1"),
        ("Europe/Berlin", "2026-03-29T01:00:00Z", "UTC+2"),
        ("Europe/Berlin", "2100-07-01T00:00:00Z", "UTC+2"),
        ("Europe/London", "2026-01-01T00:00:00Z", "UTC"),
        ("Asia/Kathmandu", "2026-01-01T00:00:00Z", "UTC+5:45"),
        ("America/St_Johns", "2026-01-01T00:00:00Z", "UTC-3:30"),
        ("Africa/Monrovia", "1960-01-01T00:00:00Z", "UTC-0:44"),
        ("UTC", "2026-01-01T00:00:00Z", "UTC"),
    ])
    func anOffsetIsWrittenInHoursAndMinutes(name: String, moment: String, text: String) throws {
        #expect(try #require(TimeZone(identifier: name)).offsetText(at: at(moment)) == text)
    }

    @Test(arguments: [
        "", "no", "../etc/passwd", "/etc/passwd", "Europe/", "Europe/Berlin/x", "Europe", "tzdata.zi",
        "Europe/Ber lin",
    ])
    func aNameThatIsNotAZoneIsRefused(name: String) {
        #expect(TimeZone(identifier: name) == nil)
    }

    /// Python reads the system's zones, which may be newer than Foundation's. So only years up to 2023 are compared.
    @Test func offsetsAgreeWithPythonInManyZonesAndYears() throws {
        var random = seededRandom()
        let names = [
            "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Nuuk",
            "Africa/Casablanca",
            "Africa/Cairo", "Asia/Tehran", "Asia/Gaza", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Lord_Howe",
            "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati", "America/Santiago", "Antarctica/Troll",
            "Etc/GMT+12",
        ]
        let queries = names.flatMap { name in
            (0..<60).map { _ in (name, Int64.random(in: -3_000_000_000...1_700_000_000, using: &random)) }
        }
        let script = """
            import sys, datetime, zoneinfo
            for line in sys.stdin:
                name, seconds = line.split()
                moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=int(seconds))
                local = moment.astimezone(zoneinfo.ZoneInfo(name))
                print(int(local.utcoffset().total_seconds()))
            """
        let answers = try output(
            of: "/usr/bin/python3", ["-c", script], queries.map { "\($0) \($1)\n" }.joined())
        let expected = answers.split(separator: "\n").map(String.init)
        #expect(expected.count == queries.count)
        for ((name, seconds), expected) in zip(queries, expected) {
            let moment = Instant(milliseconds: seconds * 1000)
            let offset = try #require(TimeZone(identifier: name)).localTime(at: moment) - moment
            #expect("\(offset.components.seconds)" == expected, "\(name) at \(seconds)")
        }
    }
}

/// The standard output of a program.
func output(of program: String, _ arguments: [String], _ input: String = "") throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let (stdin, stdout) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (stdin, stdout)
    try process.run()
    // The input is shorter than a pipe's buffer, so the write does not block.
    stdin.fileHandleForWriting.write(Data(input.utf8))
    try stdin.fileHandleForWriting.close()
    let data = stdout.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: data, as: UTF8.self)
}
