import Foundation
import SampleFeed
import Synchronization
import Testing

@testable import Feed

/// A valid feature, with the changes that a test gives. Every argument is JSON text; nil leaves the member out.
func feature(
    id: String? = #""us7000abcd""#, net: String? = #""us""#, code: String? = #""7000abcd""#,
    time: String? = "1397564567000", updated: String? = "1397564600000",
    coordinates: String? = "[10.5,-20.25,33]", properties: String = "", members: String = ""
) -> String {
    func member(_ name: String, _ value: String?) -> String { value.map { #""\#(name)":\#($0),"# } ?? "" }
    return #"{"type":"Feature","properties":{"# + member("net", net) + member("code", code)
        + member("time", time) + member("updated", updated) + properties + #""mag":1.5},"#
        + (coordinates.map { #""geometry":{"type":"Point","coordinates":\#($0)},"# } ?? "")
        + members + member("id", id) + #""version":1}"#
}

/// A document with these features, and with further top-level members, each of which ends in a comma.
func document(_ features: [String], members: String = "") -> [UInt8] {
    Array(
        (#"{"type":"FeatureCollection",\#(members)"features":["# + features.joined(separator: ",") + "]}")
            .utf8)
}

func decode(_ feature: String) throws(Rejection) -> Quake { try decode(Array(feature.utf8)) }

func decode(_ feature: [UInt8]) throws(Rejection) -> Quake {
    var decoder = FeatureDecoder()
    return try ScanOutcome.Feature.decode(feature, with: &decoder).get()
}

/// Why the feature is rejected; nil if it is accepted.
func rejection(of feature: String) -> Rejection? { rejection(of: Array(feature.utf8)) }

func rejection(of feature: [UInt8]) -> Rejection? {
    do throws(Rejection) {
        _ = try decode(feature)
        return nil
    } catch {
        return error
    }
}

func bytes(of feed: SampleFeed) -> [UInt8] {
    var bytes: [UInt8] = []
    feed.write { bytes += $0 }
    return bytes
}

/// The project's root. The real feeds are next to it.
let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// The real feeds of `../shared/feeds`, which the project does not ship.
enum SharedFeeds {
    static let folder = root.deletingLastPathComponent().appending(path: "shared/feeds")
    static let areThere = !paths.isEmpty

    static let paths: [String] = ["", "replay-all_day"].flatMap { name in
        let folder = folder.appending(path: name)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".geojson") || $0.hasSuffix(".gz") }.sorted()
            .map { folder.appending(path: $0).path }
    }
}

/// Gives a test a temporary folder, and removes it afterwards.
func withTemporaryFolder<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (URL) async throws -> Result
) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "feed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

extension FeedSource {
    /// All bytes of the feed, inflated.
    func contents(_ options: FetchOptions = .withoutWaiting()) async throws -> [UInt8] {
        var contents: [UInt8] = []
        try await read(options: options) { contents += $0 }
        return contents
    }
}

extension FetchOptions {
    /// Options that record the waits between attempts, end each wait immediately and do not shorten it at random. They ignore the
    /// environment's proxies.
    static func withoutWaiting(noting waits: Waits = Waits()) -> FetchOptions {
        var options = FetchOptions()
        options.proxies = ProxySettings(environment: [:])
        options.sleep = { wait in waits.asked.withLock { $0.append(wait) } }
        options.random = { 1 }
        return options
    }

    func with<Value>(_ path: WritableKeyPath<FetchOptions, Value>, _ value: Value) -> FetchOptions {
        var options = self
        options[keyPath: path] = value
        return options
    }
}

/// The waits that were requested.
final class Waits: Sendable {
    let asked = Mutex<[Duration]>([])
    var all: [Duration] { asked.withLock { $0 } }
}

/// The error that `body` throws; nil if it throws none.
func failure(
    isolation: isolated (any Actor)? = #isolation, of body: () async throws -> Void
) async -> (any Error)? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}

/// The fuzzer's fixed inputs.
func corpus() throws -> [(name: String, bytes: [UInt8])] {
    let folder = root.appending(path: "Fuzz/corpus")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
        (name, Array(try Data(contentsOf: folder.appending(path: name))))
    }
}

/// The process's memory, in bytes (proc(5): the second number of statm, in pages).
func residentMemory() -> Int {
    let numbers = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return (numbers.flatMap { Int($0[1]) } ?? 0) * 4096
}
