import Feed
import Logging

struct LineLog: LogHandler {
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
            var line: JSONObject = [
                "time": Instant.now, "level": event.level.rawValue, "message": "\(event.message)",
            ]
            for (key, value) in metadata { line.append(key, value) }
            StandardError.print(line.jsonText)
        }
    }
}

extension Logger.MetadataValue: JSONConvertible {
    /// A number stays a number, and a flag a flag.
    package var jsonText: String {
        switch self {
        case .stringConvertible(let value as any JSONConvertible): value.jsonText
        default: "\(self)".jsonText
        }
    }
}
