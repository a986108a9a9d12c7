import CPostgreSQL
import Glibc
import Logging

// The corners of libpq's C interface that would clutter the connection.

/// Waits until a socket can be read (or written), at most a tenth of a second: the caller looks at deadlines and
/// cancellation in between.
func waitForSocket(_ socket: Int32, writable: Bool, orReadable: Bool = false) -> Bool {
    let events = (writable ? POLLOUT : POLLIN) | (orReadable ? POLLIN : 0)
    var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
    return poll(&descriptor, 1, 100) > 0
}

/// libpq's messages span lines and end in a newline; a log line does not.
func oneLine(_ message: UnsafePointer<CChar>?) -> String {
    guard let message else { return "unknown error" }
    let lines = String(cString: message).split(whereSeparator: \.isNewline)
    return lines.map { $0.trimmingPrefix(while: \.isWhitespace) }.joined(separator: " ")
}

func columnNames(of result: OpaquePointer) -> [String] {
    (0..<PQnfields(result)).map { String(cString: PQfname(result, $0)) }
}

func cells(of result: OpaquePointer, row: Int32) -> [String?] {
    (0..<PQnfields(result)).map { column in
        PQgetisnull(result, row, column) == 1 ? nil : String(cString: PQgetvalue(result, row, column))
    }
}

func isFailure(_ result: OpaquePointer) -> Bool {
    let status = PQresultStatus(result)
    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE
}

/// PQsendQueryParams with the query's values; text results.
func sendParameters(_ query: Query, _ handle: OpaquePointer) -> Int32 {
    let parameters = query.parameters
    // Each value with a final NUL, as the text format needs it; the binary format has its length.
    let values = parameters.map { parameter in
        parameter.bytes.map { bytes in
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
            for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
            copy[bytes.count] = 0
            return copy
        }
    }
    defer { for value in values { value?.deallocate() } }
    return PQsendQueryParams(
        handle, query.text, Int32(parameters.count), parameters.map(\.type),
        values.map { UnsafePointer($0) }, parameters.map { Int32($0.bytes?.count ?? 0) },
        parameters.map { $0.isBinary ? 1 : 0 }, 0)
}

/// Calls `body` with a NULL-terminated array of C strings.
func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { UnsafePointer($0) } + [nil])
}

/// Where a connection's notices go; libpq would print them to stderr.
final class NoticeLog: Sendable {
    let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// The log has to live as long as the connection, which holds it.
    func install(on handle: OpaquePointer) {
        let log = Unmanaged.passUnretained(self).toOpaque()
        PQsetNoticeProcessor(
            handle,
            { log, message in
                guard let log else { return }
                let notices = Unmanaged<NoticeLog>.fromOpaque(log).takeUnretainedValue()
                notices.logger.info("server: \(oneLine(message))")
            }, log)
    }
}
