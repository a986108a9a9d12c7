import Glibc

/// The capabilities of the terminal that a standard stream writes to; none for a pipe or a file.
struct Terminal: Equatable, Sendable {
    /// The width in cells; nil for a pipe or a file, for which nothing is shortened.
    var width: Int?
    var hasStyles = false
    var hasLinks = false

    /// A pipe or a file.
    static let none = Terminal()
}

extension Terminal {
    /// - Parameter measured: the width that the terminal reports, if it reports one.
    init(isTerminal: Bool, measured: Int?, _ environment: Environment) {
        self.init()
        guard isTerminal else { return }
        let columns = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        width = columns ?? measured ?? 80
        let kind = environment["TERM"] ?? "dumb"
        // https://no-color.org
        hasStyles = kind != "dumb" && environment["NO_COLOR"] == nil
        hasLinks = hasStyles && Self.understandsLinks(kind, environment)
    }

    /// Terminals without links ignore their escape sequences (OSC 8), with a few exceptions. The Linux console and Emacs show
    /// parts of the sequences as text, as did GNOME's terminals before VTE 0.50
    /// (https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda).
    private static func understandsLinks(_ kind: String, _ environment: Environment) -> Bool {
        if kind == "linux" || kind.hasPrefix("eterm") { return false }
        return environment["VTE_VERSION"].flatMap { Int($0) }.map { $0 >= 5000 } ?? true
    }

    init(_ descriptor: Int32) {
        var size = winsize()
        let isMeasured = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        self.init(
            isTerminal: isatty(descriptor) == 1, measured: isMeasured ? Int(size.ws_col) : nil,
            Environment.current)
    }
}
