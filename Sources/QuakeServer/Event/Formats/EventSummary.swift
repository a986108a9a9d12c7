import Feed
import PostgreSQL

/// The parts of an event in formats for people, worded as in the USGS's feeds.
struct EventSummary {
    let code: [UInt8]
    let net: [UInt8]
    let netCode: [UInt8]
    let time: Instant
    let updated: Instant
    let latitude: Double
    let longitude: Double
    /// In km.
    let depth: Double?
    let magnitude: Double?
    private let place: [UInt8]?
    private let feedTitle: [UInt8]?
    /// The URL of the event's page. nil if the feed's text is not a web address: feeds may contain any text there, such as a
    /// script.
    let url: [UInt8]?
    /// The offset of the local time from UTC, in minutes.
    private let zone: Int64?

    static let properties: [Property] = [
        .code, .net, .netCode, .time, .updated, .latitude, .longitude, .depth, .magnitude, .place, .title,
        .url, .tz,
    ]

    init(_ row: inout Row) throws {
        guard let code = try row.nextTextBytes(), let net = try row.nextTextBytes(),
            let netCode = try row.nextTextBytes(),
            let time = try row.nextInstant(), let updated = try row.nextInstant(),
            let latitude = try row.nextDouble(), let longitude = try row.nextDouble()
        else { throw RowError.other }
        (self.code, self.net, self.netCode, self.time, self.updated) = (code, net, netCode, time, updated)
        (self.latitude, self.longitude) = (latitude, longitude)
        (depth, magnitude) = (try row.nextDouble(), try row.nextDouble())
        (place, feedTitle) = (try row.nextTextBytes(), try row.nextTextBytes())
        let stated = try row.nextTextBytes()
        url = stated.flatMap { url in url.withUnsafeBytes { FeedIdentity.host(in: $0) } == nil ? nil : url }
        zone = try row.nextInteger()
    }

    var host: String? { FeedIdentity.host(of: url.map { String(decoding: $0, as: UTF8.self) }) }

    /// The title, such as `M 4.9 - 128 km WSW of Port Orford, Oregon`.
    var title: [UInt8] {
        if let feedTitle { return feedTitle }
        var title = Array("M \(magnitude.map { rounded($0, 1) } ?? "?")".utf8)
        if let place { title += Array(" - ".utf8) + place }
        return title
    }

    /// An HTML list with the time in UTC and at the epicentre, the location and the depth. It contains no text from a feed, so
    /// nothing in it needs escaping.
    var list: String {
        let local = zone.map { zone in
            let minutes = abs(zone) % 60
            let offset = "\(zone < 0 ? "-" : "+")\(two(abs(zone) / 60)):\(two(minutes))"
            let there = Instant(milliseconds: time.milliseconds + zone * 60_000)
            return "<dd>\(there.shortText) \(offset) at epicenter</dd>"
        }
        let place = "\(degrees(latitude, "N", "S")) \(degrees(longitude, "E", "W"))"
        let deep = depth.map { "\(rounded($0, 2)) km (\(rounded($0 * 0.621371, 2)) mi)" } ?? "unknown"
        return """
            <dl><dt>Time</dt><dd>\(time.shortText) UTC</dd>\(local ?? "")<dt>Location</dt><dd>\(place)</dd>\
            <dt>Depth</dt><dd>\(deep)</dd></dl>
            """
    }

    private func degrees(_ value: Double, _ positive: String, _ negative: String) -> String {
        "\(rounded(abs(value), 3))&deg;\(value < 0 ? negative : positive)"
    }

    private func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Row {
    fileprivate mutating func nextTextBytes() throws -> [UInt8]? {
        try nextBytes().map { Array($0) }
    }
}

extension [UInt8] {
    mutating func append(xmlText text: [UInt8]) {
        text.withUnsafeBytes { append(xmlEscaped: $0) }
    }
}
