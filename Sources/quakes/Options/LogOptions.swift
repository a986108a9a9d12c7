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

/// Writes each event as one line to standard error.
private struct LineLog: LogHandler {
    let format: LogOptions.Format
    var logLevel = Logger.Level.notice
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = self.metadata.merging(event.metadata ?? [:]) { _, own in own }.sorted {
            $0.key < $1.key
        }
        switch format {
        case .text:
            let extra = metadata.map { " \($0.key)=\($0.value)" }.joined()
            StandardError.print(
                "\(Instant.now) \(event.level): \(strippingControlCharacters("\(event.message)\(extra)"))")
        case .json:
            var line = JSONObject()
            line.append("time", Instant.now.description)
            line.append("level", event.level.rawValue)
            line.append("message", "\(event.message)")
            for (key, value) in metadata { line.append(key, "\(value)") }
            StandardError.print(line.text)
        }
    }
}
