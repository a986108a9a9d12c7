enum TextStyle: String, Sendable {
    // Parameters of ECMA-48's SGR; orange is from the palette of 256 colours.
    case dim = "2"
    case green = "32"
    case yellow = "33"
    case orange = "38;5;208"
    case red = "31"
    case boldRed = "1;31"

    func applied(to text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }

    /// The style of a magnitude. Earthquakes of 2.5 or more are often felt. The USGS lists those of 4.5 or more for the whole
    /// world. Those of 6 or more do damage, and those of 7 or more are major.
    init?(magnitude: Double?) {
        guard let magnitude else { return nil }
        switch magnitude {
        case ..<2.5: self = .dim
        case ..<4.5: return nil
        case ..<6: self = .yellow
        case ..<7: self = .red
        default: self = .boldRed
        }
    }

    /// PAGER's alert levels in their own colours (https://earthquake.usgs.gov/data/pager/).
    init?(alert: String?) {
        switch alert {
        case "green": self = .green
        case "yellow": self = .yellow
        case "orange": self = .orange
        case "red": self = .boldRed
        default: return nil
        }
    }
}

struct TextLink: Equatable, Sendable {
    private let url: String

    /// nil if the URL is neither http nor https, is too long for terminals, or contains anything but printable ASCII without
    /// spaces. So a URL from a feed cannot end the escape sequence and begin another.
    init?(_ url: String?) {
        guard let url, url.utf8.count <= 2000, url.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
        let scheme = ["https://", "http://"].first { url.lowercased().hasPrefix($0) }
        guard let scheme, let host = url.dropFirst(scheme.count).first,
            host.isLetter || host.isNumber || host == "["
        else { return nil }
        self.url = url
    }

    func applied(to text: String) -> String { "\u{1B}]8;;\(url)\u{1B}\\\(text)\u{1B}]8;;\u{1B}\\" }
}
