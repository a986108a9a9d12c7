import Feed
import Glibc
import Logging
import Synchronization

/// Standard error, for everything but results.
enum StandardError {
    private static let lines = LogLines(to: STDERR_FILENO)

    /// Prints a line as it is, even if the log is JSON. Use it for lines of the log and for wrong usage; for messages, use `say`.
    static func print(_ text: String) { write(text + "\n") }

    private static func write(_ text: String) {
        lines.write(text) { note in
            isJSON.load(ordering: .relaxed)
                ? LineLog(format: .json).line(.warning, "\(note)") : "quakes: \(note)"
        }
    }

    /// Whether the command logs as JSON. A program that reads the log then expects JSON in every line.
    static let isJSON = Atomic(false)

    /// Prints a message for people: as text, or as a line of the log if the log is JSON. A server's words in the message can't
    /// control a terminal. The message may have several lines, so a name in it must have no line breaks.
    static func say(_ text: String, level: Logger.Level = .notice) {
        guard isJSON.load(ordering: .relaxed) else {
            // The output of another program may have tabs.
            let lines = text.replacing("\t", with: "    ").split(
                separator: "\n", omittingEmptySubsequences: false)
            return print(
                "quakes: \(lines.map { strippingControlCharacters(String($0)) }.joined(separator: "\n"))")
        }
        print(LineLog(format: .json).line(level, "\(text)"))
    }

    /// Overwrites the current line of a terminal. A text that is too long is cut: it would wrap, and the next text would not
    /// replace it.
    static func replaceLine(_ text: String) {
        let line = shortened(strippingControlCharacters(text), to: (Terminal(STDERR_FILENO).width ?? 80) - 1)
        write("\r\u{1B}[K\(line)")
    }

    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}
