import Feed
import Logging

/// Writes each event to standard error as one line.
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
            var line = JSONObject()
            line.append("time", Instant.now.description)
            line.append("level", event.level.rawValue)
            line.append("message", "\(event.message)")
            for (key, value) in metadata { line.append(key, value) }
            StandardError.print(line.text)
        }
    }
}

extension JSONObject {
    /// A number stays a number.
    fileprivate mutating func append(_ name: String, _ value: Logger.Metadata.Value) {
        switch value {
        case .stringConvertible(let number as Int): append(name, number)
        case .stringConvertible(let number as Double): append(name, number)
        default: append(name, "\(value)")
        }
    }
}
