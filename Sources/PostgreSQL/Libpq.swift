import CPostgreSQL
import Glibc
import Logging

// Wrappers of libpq's C interface that keep C out of `Connection`.

/// Waits until a socket can be read (POLLIN) or written (POLLOUT). Returns false if that takes longer than a tenth of a second,
/// so that the caller can check deadlines and cancellation between two calls.
func waitForSocket(_ socket: Int32, for events: Int32) -> Bool {
    var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
    return poll(&descriptor, 1, 100) > 0
}

/// Joins the lines of a libpq message, because a log message has only one line.
func oneLine(_ message: UnsafePointer<CChar>?) -> String {
    guard let message else { return "unknown error" }
    let lines = String(cString: message).split(whereSeparator: \.isNewline)
    return lines.map { $0.trimmingPrefix(while: \.isWhitespace) }.joined(separator: " ")
}

/// Calls PQsendQueryParams. Parameters and results are in the binary format.
func sendParameters(_ parameters: [Parameter], of statement: String, _ handle: OpaquePointer) -> Int32 {
    withValues(of: parameters) { values, lengths, formats in
        PQsendQueryParams(
            handle, statement, Int32(parameters.count), parameters.map(\.type), values, lengths, formats, 1)
    }
}

func sendPrepared(_ name: String, _ parameters: [Parameter], _ handle: OpaquePointer) -> Int32 {
    withValues(of: parameters) { values, lengths, formats in
        PQsendQueryPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 1)
    }
}

private func withValues(
    of parameters: [Parameter], _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> Int32
) -> Int32 {
    // One buffer holds all values. It has one extra byte at the end, so that even an empty value has an address.
    var bytes = parameters.flatMap { $0.bytes ?? [] }
    bytes.append(0)
    return bytes.withUnsafeBytes { buffer in
        var start = 0
        let values = parameters.map { parameter -> UnsafePointer<CChar>? in
            guard let bytes = parameter.bytes else { return nil }
            defer { start += bytes.count }
            return buffer.baseAddress!.advanced(by: start).assumingMemoryBound(to: CChar.self)
        }
        return body(
            values, parameters.map { Int32(clamping: $0.bytes?.count ?? 0) }, parameters.map { _ in 1 })
    }
}

func withCStrings<Result>(
    of keywords: [String: String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let sorted = keywords.sorted { $0.key < $1.key }
    let (names, values) = (sorted.map { strdup($0.key) }, sorted.map { strdup($0.value) })
    defer { for copy in names + values { free(copy) } }
    return body(names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
}

/// The keywords that have a value in a list from libpq. Frees the list.
func takeKeywords(of options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
    defer { PQconninfoFree(options) }
    var keywords: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
        if let value = option.pointee.val { keywords[String(cString: keyword)] = String(cString: value) }
        option += 1
    }
    return keywords
}

/// The fields of an error or a notice. The values are those of libpq's PG_DIAG_… constants, which Swift does not import, because
/// they are C characters.
enum DiagnosticField: Unicode.Scalar {
    case sqlState = "C"
    /// The severity is in English even if the messages are not.
    case severity = "V"
    case message = "M"
    case hint = "H"
}

func field(_ field: DiagnosticField, of result: OpaquePointer) -> String? {
    guard let text = PQresultErrorField(result, Int32(field.rawValue.value)) else { return nil }
    return oneLine(text)
}

/// Removes the refused value from the server's message: everything between the first and the last quotation mark, and all bytes
/// in hexadecimal. The quotation marks of all languages of the server's messages are recognised.
func withoutValues(_ message: String) -> String {
    // Compares scalars, because a combining character at the start of a value would form one Character with the quotation mark.
    let text = message.unicodeScalars
    let quotes: Set<Unicode.Scalar> = ["\"", "\u{AB}", "\u{BB}", "\u{201C}", "\u{201D}", "\u{201E}"]
    var shown = message
    if let first = text.firstIndex(where: quotes.contains), let last = text.lastIndex(where: quotes.contains)
    {
        shown = String(text[..<first]) + "…" + String(text[text.index(after: last)...])
    }
    return shown.replacing(/0x[0-9a-f]{2}( 0x[0-9a-f]{2})*/, with: "…")
}

/// Logs a connection's notices, which libpq would otherwise print to standard error.
final class NoticeLog: Sendable {
    let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// `handle` keeps an unowned pointer to this log, so the log must outlive it. `Connection` holds both.
    func install(on handle: OpaquePointer) {
        let log = Unmanaged.passUnretained(self).toOpaque()
        PQsetNoticeReceiver(
            handle,
            { log, notice in
                guard let log, let notice else { return }
                Unmanaged<NoticeLog>.fromOpaque(log).takeUnretainedValue().write(notice)
            }, log)
    }

    /// Like an error, a notice is logged without DETAIL and CONTEXT, which quote rows.
    private func write(_ notice: OpaquePointer) {
        let level: Logger.Level =
            switch field(.severity, of: notice) {
            case "WARNING": .warning
            // Such a message arrives between two statements if the server ends an idle connection.
            case "ERROR", "FATAL", "PANIC": .error
            default: .info
            }
        logger.log(
            level: level,
            "server: \(field(.message, of: notice) ?? oneLine(PQresultErrorMessage(notice)))")
    }
}
