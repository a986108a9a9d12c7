import ArgumentParser
import Feed
import Logging

/// How a command logs: to standard error, a line an event.
struct LogOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(help: "Log as text or as JSON lines, on standard error.")
    var logFormat = Format.text

    @Option(
        help: ArgumentHelp(
            "Log from this level on: debug, info, notice, warning, error.", valueName: "level"),
        transform: level)
    var logLevel = Logger.Level.notice

    private static func level(_ name: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: name) else {
            throw ValidationError("'\(name)' is no log level")
        }
        return level
    }

    func logger() -> Logger {
        var logger = Logger(label: "quakes") { [logFormat] _ in LineLog(format: logFormat) }
        logger.logLevel = logLevel
        return logger
    }
}
