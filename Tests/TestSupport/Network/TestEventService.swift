import Foundation
import Synchronization

/// An FDSN event service on loopback. Its first event is at the beginning of 1970, and the others follow at equal intervals.
public struct TestEventService: Sendable {
    /// The search limit: a request that matches more events is refused.
    public let limit: Int
    /// The number of events.
    public let count: Int
    /// The largest number of events in a response. The service silently leaves out further events.
    public var most = Int.max
    /// Whether the service is minimal: it supports only the text format, and has no count method.
    public var isPlain = false
    /// Events that the service counts but never returns.
    public var isHidden: @Sendable (_ number: Int) -> Bool = { _ in false }
    /// Events that the service declares withdrawn; only for the text format.
    public var isWithdrawn: @Sendable (_ number: Int) -> Bool = { _ in false }
    /// Milliseconds between two events.
    public static let interval = 60_000

    public init(count: Int, limit: Int) {
        (self.count, self.limit) = (count, limit)
    }

    /// The time range of all events, as command line options.
    public var stretch: [String] {
        ["--from", "1970-01-01", "--to", time((count - 1) * Self.interval + 1)]
    }

    public func answer(_ request: TestRequest) -> TestFeedServer.Answer {
        let url = URLComponents(string: request.uri)
        let values = Dictionary(
            (url?.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
        if isPlain {
            if url?.path.hasSuffix("/count") == true { return .whole(.notFound, []) }
            if values["format"] != "text" { return .whole(.badRequest, Array("Unknown format".utf8)) }
        }
        guard let start = values["starttime"].flatMap(milliseconds),
            let end = values["endtime"].flatMap(milliseconds)
        else { return .whole(.badRequest, Array("Bad time".utf8)) }
        let first = max(0, (start + Self.interval - 1) / Self.interval)
        let last = min(count - 1, end / Self.interval)
        let found = max(0, last - first + 1)
        if url?.path.hasSuffix("/count") == true { return .whole(.ok, Array("\(found)".utf8)) }
        if found == 0 { return .whole(.noContent, []) }
        guard found <= limit else {
            return .whole(
                isPlain ? .tooLarge : .badRequest,
                Array("\(found) matching events exceeds search limit of \(limit)".utf8))
        }
        let numbers = (first...last).filter { !isHidden($0) }.prefix(most)
        if isPlain { return .whole(.ok, Array(text(numbers).utf8)) }
        let now = Int(Date().timeIntervalSince1970 * 1000)
        let features = numbers.map(feature).joined(separator: ",")
        let document =
            "{\"type\":\"FeatureCollection\",\"metadata\":{\"generated\":\(now),\"url\":\"http://127.0.0.1\(request.uri)\"},\"features\":[\(features)]}"
        return .whole(.ok, Array(document.utf8))
    }

    private func text(_ numbers: ArraySlice<Int>) -> String {
        let header =
            "#EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor|EventLocationName|EventType\n"
        return numbers.reduce(into: header) { text, number in
            let type = isWithdrawn(number) ? "not existing" : "earthquake"
            text +=
                "q0\(number)|\(time(number * Self.interval))|2|1|3|a|a|a|q0\(number)|ml|1|a|Somewhere|\(type)\n"
        }
    }

    private func feature(_ number: Int) -> String {
        "{\"type\":\"Feature\",\"properties\":{\"mag\":1,\"time\":\(number * Self.interval),\"updated\":1,\"url\":\"http://127.0.0.1/event/q0\(number)\",\"net\":\"q0\",\"code\":\"\(number)\"},\"geometry\":{\"type\":\"Point\",\"coordinates\":[1,2,3]},\"id\":\"q0\(number)\"}"
    }

    private func time(_ milliseconds: Int) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).ISO8601Format(
            .init(includingFractionalSeconds: true))
    }

    /// Reads a time to the millisecond; further digits are cut off.
    private func milliseconds(_ text: String) -> Int? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? format.parse("\(text.prefix(23).prefix { $0 != "Z" })Z")).map {
            Int(($0.timeIntervalSince1970 * 1000).rounded())
        }
    }
}
