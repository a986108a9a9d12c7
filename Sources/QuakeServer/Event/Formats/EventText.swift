import Feed
import PostgreSQL
import QuakeStore

/// Events in the text format of the FDSN standard: 14 columns separated by vertical bars.
///
/// The table names only the preferred network of each event. In this format, the preferred network is the author, the catalogue
/// and the contributor. For a merged earthquake, the author of the magnitude may be another network.
struct EventText: EventEncoder {
    var needsGroup = false

    static let properties: [Property] = [
        .code, .time, .latitude, .longitude, .depth, .net, .magnitudeType, .magnitude, .place, .type,
    ]

    func head(of count: Int) -> String {
        "#EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor"
            + "|EventLocationName|EventType\n"
    }

    func append(_ row: inout Row, to line: inout [UInt8]) throws {
        let code = try row.nextBytes()
        line.append(field: code)
        if let time = try row.nextInstant() {
            time.appendText(to: &line)
            // Removes the `Z`: times are in UTC, and the standard's examples do not have it.
            line.removeLast()
        }
        line.append(UInt8(ascii: "|"))
        for _ in 0..<3 { line.append(field: try row.nextDouble()) }
        let net = try row.nextBytes()
        for _ in 0..<3 { line.append(field: net) }
        line.append(field: code)
        line.append(field: try row.nextBytes())
        let magnitude = try row.nextDouble()
        line.append(field: magnitude)
        let (place, type) = (try row.nextBytes(), try row.nextBytes())
        if needsGroup {
            let network = try EarthquakeGroup(&row).magnitudeNetwork ?? ""
            Array(network.utf8).withUnsafeBytes { line.append(field: $0) }
        } else {
            line.append(field: magnitude == nil ? nil : net)
        }
        line.append(field: place)
        line.append(field: type)
        line[line.count - 1] = UInt8(ascii: "\n")
    }
}

extension [UInt8] {
    /// Appends a text and a bar. A bar or a control character within the text becomes a space.
    fileprivate mutating func append(field text: UnsafeRawBufferPointer?) {
        if let text {
            append(
                contentsOf: text.lazy.map { $0 < 0x20 || $0 == UInt8(ascii: "|") ? UInt8(ascii: " ") : $0 })
        }
        append(UInt8(ascii: "|"))
    }

    fileprivate mutating func append(field number: Double?) {
        if let number { append(number: number) }
        append(UInt8(ascii: "|"))
    }
}
