import ArgumentParser
import Feed
import Logging

/// How a command logs: to standard error, one line per event.
struct LogOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(help: "Log to standard error as text or as JSON lines.")
    var logFormat = Format.text

    @Option(
        help: ArgumentHelp(
            "The lowest level to log: debug, info, notice, warning or error.", valueName: "level"),
        transform: level)
    var logLevel = Logger.Level.notice

    mutating func validate() throws {
        StandardError.isJSON.store(logFormat == .json, ordering: .relaxed)
    }

    private static func level(_ name: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: name) else {
            throw ValidationError("it takes debug, info, notice, warning or error")
        }
        return level
    }

    func logger() -> Logger {
        var logger = Logger(label: "quakes") { [logFormat] _ in LineLog(format: logFormat) }
        logger.logLevel = logLevel
        return logger
    }
}
