import Feed
import PostgreSQL
import QuakeML

/// Events as an Atom feed (RFC 4287) with GeoRSS, like the USGS's `.atom` feeds
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/atom.php). Events of the USGS have the identifiers that the USGS's feeds
/// use. All other events have their QuakeML identifiers.
struct EventAtom: EventEncoder {
    static let properties = EventSummary.properties

    let title: String
    let url: String
    let generated: Instant
    let author: String
    let baseURL: String

    func head(of count: Int) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss">\
        <title>\(xmlEscaped(title))</title><updated>\(generated)</updated>\
        <author><name>\(xmlEscaped(author))</name></author>\
        <id>\(xmlEscaped(url))</id><link rel="self" href="\(xmlEscaped(url))"/>

        """
    }

    func append(_ row: inout Row, to bytes: inout [UInt8]) throws {
        let event = try EventSummary(&row)
        bytes.append(text: "<entry><id>")
        append(idOf: event, to: &bytes)
        bytes.append(text: "</id><title>")
        bytes.append(xmlText: event.title)
        bytes.append(text: "</title><updated>\(event.updated)</updated><link rel=\"alternate\" ")
        // An entry without content must have an alternate link (RFC 4287, 4.1.2).
        if let url = event.url {
            bytes.append(text: "type=\"text/html\" href=\"")
            bytes.append(xmlText: url)
        } else {
            bytes.append(
                text:
                    "type=\"application/json\" href=\"\(xmlEscaped(baseURL))/earthquakes/feed/v1.0/detail/all/"
            )
            bytes.append(escaped: event.code, by: "%", keeping: "-._~")
            bytes.append(text: ".geojson")
        }
        bytes.append(text: "\"/><summary type=\"html\"><![CDATA[\(event.list)]]></summary>")
        bytes.append(text: "<georss:point>\(event.latitude) \(event.longitude)</georss:point>")
        if let depth = event.depth {
            bytes.append(text: "<georss:elev>")
            // Adding 0 removes the sign of -0.
            bytes.append(number: (-1000 * depth * 1000).rounded() / 1000 + 0)
            bytes.append(text: "</georss:elev>")
        }
        let age = generated.milliseconds - event.time.milliseconds
        let ages: [(String, Int64)] = [("Hour", 1), ("Day", 24), ("Week", 168), ("Month", 720)]
        let name = ages.first { age <= $0.1 * 3_600_000 }.map { "Past \($0.0)" } ?? "More than one month"
        let magnitude = event.magnitude.map { "\(Int($0))" } ?? "?"
        bytes.append(text: "<category label=\"Age\" term=\"\(name)\"/>")
        bytes.append(text: "<category label=\"Magnitude\" term=\"Magnitude \(magnitude)\"/>")
        for label in ["Contributor", "Author"] {
            bytes.append(text: "<category label=\"\(label)\" term=\"")
            bytes.append(xmlText: event.net)
            bytes.append(text: "\"/>")
        }
        bytes.append(text: "</entry>\n")
    }

    private func append(idOf event: EventSummary, to bytes: inout [UInt8]) {
        guard Agency.usgs.hasEvent(of: String(decoding: event.net, as: UTF8.self), at: event.host) else {
            return event.code.withUnsafeBytes { code in
                guard let url = event.url else { return bytes.append(publicIDOf: code, at: nil) }
                url.withUnsafeBytes { bytes.append(publicIDOf: code, at: $0) }
            }
        }
        bytes.append(text: "urn:earthquake-usgs-gov:")
        bytes.append(escaped: event.net, by: "%", keeping: "-._~")
        bytes.append(text: ":")
        bytes.append(escaped: event.netCode, by: "%", keeping: "-._~")
    }

    func finish(_ bytes: inout [UInt8]) { bytes.append(text: "</feed>\n") }
}
