import Feed
import PostgreSQL
import XML

/// Events as an Atom feed (RFC 4287) with GeoRSS, as the USGS's `.atom` feeds
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/atom.php).
struct EventAtom: EventEncoder {
    static let properties = EventSummary.properties

    /// The feed's title, its own URL and the moment that it speaks of.
    let title: String
    let url: String
    let generated: Instant
    /// Who makes it.
    let author: String
    /// What the URLs of this server begin with.
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
        bytes.append(text: "<entry><id>urn:earthquake-usgs-gov:")
        bytes.append(percentEncoded: event.net)
        bytes.append(text: ":")
        bytes.append(percentEncoded: event.netCode)
        bytes.append(text: "</id><title>")
        bytes.append(xmlText: event.title)
        bytes.append(text: "</title><updated>\(event.updated)</updated><link rel=\"alternate\" ")
        // Each entry without content has such a link.
        if let url = event.url {
            bytes.append(text: "type=\"text/html\" href=\"")
            bytes.append(xmlText: url)
        } else {
            bytes.append(
                text: "type=\"application/json\" href=\"\(xmlEscaped(baseURL))/earthquakes/feed/v1.0/detail/")
            bytes.append(percentEncoded: event.code)
            bytes.append(text: ".geojson")
        }
        bytes.append(text: "\"/><summary type=\"html\"><![CDATA[\(event.list)]]></summary>")
        bytes.append(text: "<georss:point>\(event.latitude) \(event.longitude)</georss:point>")
        if let depth = event.depth {
            bytes.append(text: "<georss:elev>")
            bytes.append(number: (-1000 * depth * 1000).rounded() / 1000)
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

    func finish(_ bytes: inout [UInt8]) { bytes.append(text: "</feed>\n") }
}

extension [UInt8] {
    /// Appends a text as a part of a URL (RFC 3986, 2.1).
    mutating func append(percentEncoded text: [UInt8]) {
        for byte in text {
            if byte.isUnreserved {
                append(byte)
            } else {
                append(UInt8(ascii: "%"))
                for digit in [byte >> 4, byte & 15] {
                    append(digit + UInt8(ascii: digit < 10 ? "0" : "7"))
                }
            }
        }
    }
}

extension UInt8 {
    fileprivate var isUnreserved: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || "-._~".utf8.contains(self)
    }
}
