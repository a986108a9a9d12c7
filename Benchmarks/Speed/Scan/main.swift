// Measures how many MB of a feed one core processes per second when it finds the features, decodes them, and encodes them as rows
// of COPY. The decoding is compared with Foundation's JSONDecoder.
//
//     ScanBenchmark FEED [--repeat R] [--json]
//
// The figures are MB per second of CPU time, as medians of R rounds. Only the ratios within a run are meaningful.

import Feed
import Foundation
import PostgreSQL
import QuakeStore

/// The imported properties, declared for JSONDecoder.
private struct Feature: Decodable {
    struct Properties: Decodable {
        var mag, cdi, mmi, dmin, rms, gap: Double?
        var place, url, detail, alert, status, net, code, ids, sources, types, magType, type, title: String?
        var time, updated: Int64?
        var tz, felt, tsunami, sig, nst: Int?
    }
    struct Geometry: Decodable {
        var coordinates: [Double?]
    }
    var id: String
    var properties: Properties
    var geometry: Geometry
}

private enum Step: String, CaseIterable {
    case scan = "scan"
    case decode = "scan, decode"
    case encode = "scan, decode, encode"
    case jsonDecoder = "scan, JSONDecoder"
}

/// JSONDecoder decodes only one feature in this many, because it is slow and a sample is enough.
private let decodedByFoundation = 20

private func run(_ step: Step, _ feed: [UInt8]) throws -> Double {
    var scanner = FeatureScanner()
    var decoder = FeatureDecoder()
    var rows = BinaryRows()
    let foundation = JSONDecoder()
    var decodedBytes = 0
    let start = processorTime()
    var position = 0
    while position < feed.count {
        let end = min(position + 256 << 10, feed.count)
        try feed.withUnsafeBufferPointer { bytes in
            var record: QuakeRecord?
            // As in an import: if `decodePrefix` can decode the next feature, it also returns the feature's size, and the scanner
            // need not search for the end of the feature.
            let measure: (UnsafeBufferPointer<UInt8>) -> Int? = { bytes in
                guard step == .decode || step == .encode, let (decoded, size) = decoder.decodePrefix(bytes)
                else {
                    return nil
                }
                record = decoded
                return size
            }
            _ = try scanner.scan(bytes.extracting(position..<end), from: 0, measure: measure) { feature in
                switch step {
                case .scan: break
                case .decode: if record.take() == nil { _ = try decoder.decode(feature.bytes) }
                case .encode:
                    rows.removeAll()
                    rows.append(try record.take() ?? decoder.decode(feature.bytes), from: feature.bytes)
                case .jsonDecoder:
                    guard feature.ordinal.isMultiple(of: decodedByFoundation) else { break }
                    _ = try foundation.decode(Feature.self, from: Data(feature.bytes))
                    decodedBytes += feature.size
                }
                return true
            }
        }
        position = end
    }
    try scanner.finish()
    let seconds = processorTime() - start
    guard step == .jsonDecoder else { return Double(feed.count) / seconds / 1e6 }
    // Subtracts the time for scanning all features from the decoder's time.
    let scan = Double(feed.count) / (try run(.scan, feed)) / 1e6
    return Double(decodedBytes) / max(seconds - scan, .leastNonzeroMagnitude) / 1e6
}

/// The CPU time of this process in seconds.
private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

private func option(_ name: String) -> String? {
    guard let index = CommandLine.arguments.firstIndex(of: name), index + 1 < CommandLine.arguments.count
    else {
        return nil
    }
    return CommandLine.arguments[index + 1]
}

guard CommandLine.arguments.count > 1,
    let file = FileManager.default.contents(atPath: CommandLine.arguments[1])
else {
    FileHandle.standardError.write(Data("usage: ScanBenchmark FEED [--repeat R] [--json]\n".utf8))
    exit(64)
}
let feed = Array(file)
let rounds = option("--repeat").flatMap(Int.init) ?? 5
private var speeds: [(step: Step, speed: Double)] = []
for step in Step.allCases {
    let sorted = try (0..<rounds).map { _ in try run(step, feed) }.sorted()
    speeds.append((step, sorted[sorted.count / 2]))
}
let base = speeds[speeds.count - 1].speed
if CommandLine.arguments.contains("--json") {
    let members = speeds.map {
        "\"\($0.step.rawValue)\": {\"megabytes_per_second\": \($0.speed), \"ratio\": \($0.speed / base)}"
    }
    print("{\(members.joined(separator: ", "))}")
} else {
    for (step, speed) in speeds {
        let name = step.rawValue.padding(toLength: 24, withPad: " ", startingAt: 0)
        print(name + String(format: "%8.1f MB/s  %6.2f of JSONDecoder", speed, speed / base))
    }
}
