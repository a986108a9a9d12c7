/// Recognises the format of a document by its first bytes.
enum DocumentStart {
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// At most this many bytes of the first line are read.
    static let lineLimit = 1 << 10

    static let inUTF16 = "UTF-16, not UTF-8; \"iconv -f UTF-16 -t UTF-8\" converts it"

    enum Kind: Equatable {
        /// More bytes are needed.
        case unknown
        case geoJSON
        case xml
        case text
        /// None of these formats. The text says what the document is instead.
        case other(String)
    }

    /// - Parameter bytes: the document's first bytes after any whitespace.
    static func kind(of bytes: [UInt8], isLast: Bool) -> Kind {
        // A byte order mark of UTF-16, or a zero byte of UTF-16 or UTF-32. Only XML may have such an encoding, because an XML
        // document declares its encoding.
        if bytes.prefix(2).contains(where: { [0xFF, 0xFE, 0x00].contains($0) }) {
            guard isLast || bytes.count >= 8 else { return .unknown }
            let letters = bytes.filter { ![0xFF, 0xFE, 0x00].contains($0) && !$0.isJSONWhitespace }
            guard let first = letters.first, (0x21...0x7E).contains(first), first != UInt8(ascii: "<") else {
                return .xml
            }
            return .other(inUTF16)
        }
        if !isLast, bytes.count < 3, byteOrderMark.starts(with: bytes) { return .unknown }
        let isMarked = bytes.starts(with: byteOrderMark)
        let content = isMarked ? bytes[3...] : bytes[...]
        guard let first = content.first else { return .unknown }
        switch first {
        case UInt8(ascii: "{"): return .geoJSON
        case UInt8(ascii: "#"): return .text
        // A second byte order mark is not valid JSON: the scanner refuses it.
        case 0xEF where isMarked: return .geoJSON
        case UInt8(ascii: "<"): return kind(ofMarkup: content, isLast)
        default:
            // A header line without `#` is recognised by the name of its first column.
            if let bar = content.firstIndex(of: UInt8(ascii: "|")) {
                let name = content[..<bar].filter { !$0.isJSONWhitespace }.map(\.asciiLowercased)
                if name.elementsEqual("eventid".utf8) { return .text }
            }
            guard isLast || content.contains(UInt8(ascii: "\n")) || content.count >= lineLimit else {
                return .unknown
            }
            return .other(name(of: content))
        }
    }

    private static func kind(ofMarkup content: ArraySlice<UInt8>, _ isLast: Bool) -> Kind {
        let start = content.prefix(15).map(\.asciiLowercased)
        for page in ["<!doctype html", "<html"] {
            if start.starts(with: page.utf8) { return .other("an HTML page, not an earthquake document") }
            if !isLast, start.count < page.utf8.count, page.utf8.starts(with: start) { return .unknown }
        }
        return .xml
    }

    private static func name(of content: ArraySlice<UInt8>) -> String {
        let text = String(decoding: content.prefix(lineLimit), as: UTF8.self).uppercased()
        let formats = "; quakes reads GeoJSON, QuakeML and FDSN text"
        if text.contains("IMS1.0") || text.contains("DATA_TYPE") {
            return "IMS1.0 text, not FDSN text\(formats)"
        }
        if text.hasPrefix("[") { return "not a JSON object\(formats)" }
        let columns = Set((text.split(separator: "\n").first ?? "").split(separator: ",").map(String.init))
        if columns.isSuperset(of: ["ID", "LOCATION", "LATITUDE"]) {
            return "CSV as libcomcat writes it, not FDSN text\(formats)"
        }
        if columns.isSuperset(of: ["TIME", "LATITUDE"]) || text.hasPrefix("TIME,") {
            return "CSV, not FDSN text\(formats)"
        }
        if text.prefixMatch(of: /[A-Z_$][\w$.]*\s*\(\s*\{/) != nil {
            return "JSONP, a function call around GeoJSON; request it without the parameter callback"
        }
        if text.contains("|") {
            return "not FDSN text: no line names the columns, #EventID|Time|…"
        }
        return "neither GeoJSON, QuakeML nor FDSN text"
    }
}
