import Feed
import PostgreSQL

/// Events as the standard's text: 14 columns between vertical bars.
///
/// The table knows one network for each event, which is preferred: that is its author, its catalogue and its contributor.
struct EventText: EventEncoder {
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
            // Times are in UTC, and the standard's examples do not say so.
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
        line.append(field: magnitude == nil ? nil : net)
        line.append(field: try row.nextBytes())
        line.append(field: try row.nextBytes())
        line[line.count - 1] = UInt8(ascii: "\n")
    }
}

/// Events in the columns of the USGS's CSV. What summary feeds do not tell, such as errors, is empty.
struct EventCSV: EventEncoder {
    static let properties: [Property] = [
        .time, .latitude, .longitude, .depth, .magnitude, .magnitudeType, .nst, .gap, .dmin, .rms, .net,
        .code,
        .updated, .place, .type, .status,
    ]

    func head(of count: Int) -> String {
        "time,latitude,longitude,depth,mag,magType,nst,gap,dmin,rms,net,id,updated,place,type,horizontalError,depthError,"
            + "magError,magNst,status,locationSource,magSource\n"
    }

    func append(_ row: inout Row, to line: inout [UInt8]) throws {
        for property in Self.properties {
            if property == .status { line.append(text: ",,,,") }
            switch property.kind {
            case .time: try row.nextInstant()?.appendText(to: &line)
            case .number: if let number = try row.nextDouble() { line.append(number: number) }
            case .integer: if let integer = try row.nextInteger() { line.append(integer: integer) }
            case .text, .flag, .list, .json: if let text = try row.nextBytes() { line.append(csvField: text) }
            }
            line.append(UInt8(ascii: ","))
        }
        line.append(text: ",\n")
    }
}

extension [UInt8] {
    /// A text and the bar behind it. A bar or a control character within the text becomes a space.
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

    /// A field of RFC 4180, quoted if it has to be.
    fileprivate mutating func append(csvField text: UnsafeRawBufferPointer) {
        let quote = UInt8(ascii: "\"")
        let isPlain = text.allSatisfy { byte in
            byte != quote && byte != UInt8(ascii: ",") && byte != UInt8(ascii: "\n")
                && byte != UInt8(ascii: "\r")
        }
        guard !isPlain else { return append(contentsOf: text) }
        append(quote)
        for byte in text {
            if byte == quote { append(quote) }
            append(byte)
        }
        append(quote)
    }
}
