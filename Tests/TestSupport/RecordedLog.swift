import Logging
import Synchronization

/// Keeps the logged messages as lines of the form `level: message`.
public final class RecordedLog: Sendable {
    private let entries = Mutex<[String]>([])

    public init() {}

    public var lines: [String] { entries.withLock { $0 } }

    public var logger: Logger {
        Logger(label: "test") { _ in Handler(log: self) }
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.entries.withLock { $0.append("\(event.level): \(event.message)") }
        }
    }
}
