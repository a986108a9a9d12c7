import Glibc
import Logging
import Synchronization

/// Standard error, for everything but results.
enum StandardError {
    private static let lines = LogLines(to: STDERR_FILENO)

    static func print(_ text: String) { write(text + "\n") }

    private static func write(_ text: String) {
        lines.write(text) { note in
            isJSON.load(ordering: .relaxed)
                ? LineLog(format: .json).line(.warning, "\(note)") : "quakes: \(note)"
        }
    }

    /// Whether the command logs as JSON. What reads its log then expects JSON in every line.
    static let isJSON = Atomic(false)

    /// Tells people something: as text, or as a line of the log if that is JSON.
    static func say(_ text: String, level: Logger.Level = .notice) {
        guard isJSON.load(ordering: .relaxed) else { return print("quakes: \(text)") }
        print(LineLog(format: .json).line(level, "\(text)"))
    }

    /// Writes over the current line of a terminal. What is too long for it is cut: it would wrap, and the next text would
    /// not replace it.
    static func replaceLine(_ text: String) {
        let line = shortened(strippingControlCharacters(text), to: (Terminal(STDERR_FILENO).width ?? 80) - 1)
        write("\r\u{1B}[K\(line)")
    }

    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}
