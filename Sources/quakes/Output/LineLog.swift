import Feed
import Logging

struct LineLog: LogHandler {
    let format: TextFormat
    var logLevel = Logger.Level.notice
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = self.metadata.merging(event.metadata ?? [:]) { _, own in own }
        StandardError.print(line(event.level, event.message, metadata))
    }

    func line(
        _ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]
    ) -> String {
        let metadata = metadata.sorted { $0.key < $1.key }
        switch format {
        case .text:
            let extra = metadata.map { " \($0.key)=\($0.value)" }.joined()
            return "\(Instant.now) \(level): \(strippingControlCharacters("\(message)\(extra)"))"
        case .json:
            var line: JSONObject = [
                "time": Instant.now, "level": level.rawValue, "message": "\(message)",
            ]
            for (key, value) in metadata { line.append(key, value) }
            return line.jsonText
        }
    }
}

extension Logger.MetadataValue: JSONConvertible {
    /// Numbers and flags stay numbers and flags in JSON; all other values become strings.
    package var jsonText: String {
        switch self {
        case .stringConvertible(let value as any JSONConvertible): value.jsonText
        default: "\(self)".jsonText
        }
    }
}
