/// The feed that a document belongs to and the time when it was generated, as the document itself says. A file's name proves
/// nothing, because the file may be a copy.
public struct FeedIdentity: Sendable, Equatable {
    /// The host of the feed's URL, in lower case and without the port.
    public let service: String
    /// Such as `all_day`.
    public let name: String
    public let generated: Instant
    /// The origin times for which the document has every event of its service; nil for a feed that leaves out small
    /// events.
    public let window: ClosedRange<Instant>?

    public init(service: String, name: String, generated: Instant, window: ClosedRange<Instant>?) {
        (self.service, self.name, self.generated, self.window) = (service, name, generated, window)
    }

    /// Recognises only the summary feeds, by their URL (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php);
    /// nil for any other document.
    public init?(_ metadata: FeedMetadata) {
        guard let generated = metadata.generated, let url = metadata.url, let service = Self.host(of: url),
            let name = url.wholeMatch(of: #/[^?\#]+/summary/([a-z0-9._]+)\.geojson/#).map({ String($0.1) }),
            FeedSource.summaryFeeds.contains(name)
        else { return nil }
        self.service = service
        self.name = name
        self.generated = generated
        window = Self.period(of: name).map { generated - $0...generated }
    }

    /// The host of an http or https URL, in lower case and without its port.
    public static func host(of url: String?) -> String? {
        guard var url else { return nil }
        return url.withUTF8 {
            host(in: UnsafeRawBufferPointer($0)).map { String(decoding: $0, as: UTF8.self) }
        }?
        .lowercased()
    }

    /// The host of an http or https URL without its port, in the upper and lower case of the URL.
    package static func host(in url: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let slashes = url.firstIndex(of: UInt8(ascii: "/")),
            url.dropFirst(slashes).starts(with: "//".utf8),
            case let scheme = url[..<slashes].lazy.map(\.asciiLowercased),
            scheme.elementsEqual("http:".utf8) || scheme.elementsEqual("https:".utf8)
        else { return nil }
        let authority = url.dropFirst(slashes + 2).prefix { byte in
            byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
        }
        // A user or a password may contain an `@`, too, so the host comes after the last one.
        let start = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
        let rest = authority[start...]
        // The brackets of an IPv6 address contain colons; the port comes after them.
        let bracket = rest.lastIndex(of: UInt8(ascii: "]")) ?? rest.startIndex
        let host = rest[..<(rest[bracket...].firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex)]
        return host.isEmpty ? nil : UnsafeRawBufferPointer(rebasing: host)
    }

    /// The feed's period in milliseconds; nil for a feed with a minimum magnitude.
    private static func period(of name: String) -> Int64? {
        let day: Int64 = 86_400_000
        return ["all_hour": day / 24, "all_day": day, "all_week": 7 * day, "all_month": 30 * day][name]
    }
}
