import NIOCore
import QuakeStore

/// The content and the form of a stream. Clients with the same form get the same bytes.
struct StreamForm: Sendable, Hashable {
    let syntax: Syntax
    /// The filter for events; nil for all events.
    let filter: ChangeFilter?
    /// Whether `framed(_:)` makes a chunk of the bytes (RFC 9112, 7.1). Streams to HTTP/1.1 clients need this, because live bytes
    /// bypass the HTTP handlers.
    let isChunked: Bool

    enum Syntax: Sendable {
        /// Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
        case events
        case lines

        var contentType: String {
            switch self {
            case .events: "text/event-stream; charset=utf-8"
            case .lines: "application/x-ndjson; charset=utf-8"
            }
        }
    }

    /// The beginning of the stream. It tells browsers how long to wait before they reconnect. The time is random, so that not all
    /// browsers reconnect at the same moment.
    var beginning: [UInt8] {
        switch syntax {
        case .events: Array("retry: \(Int.random(in: 1000...5000))\n\n".utf8)
        case .lines: []
        }
    }

    var heartbeat: [UInt8] {
        switch syntax {
        case .events: Array(":\n\n".utf8)
        case .lines: Array("\n".utf8)
        }
    }

    /// The message that the database is unreachable. Streams of lines have no such message and get a heartbeat instead.
    var outage: [UInt8] {
        switch syntax {
        case .events: Array("event: away\ndata: {}\n\n".utf8)
        case .lines: heartbeat
        }
    }

    func framed(_ bytes: [UInt8]) -> ByteBuffer {
        guard isChunked else { return ByteBuffer(bytes: bytes) }
        var chunk = ByteBuffer()
        chunk.reserveCapacity(bytes.count + 20)
        chunk.writeString("\(String(bytes.count, radix: 16))\r\n")
        chunk.writeBytes(bytes)
        chunk.writeString("\r\n")
        return chunk
    }

    enum Kind {
        case snapshot, row, change, position

        fileprivate var field: StaticString {
            switch self {
            case .snapshot: "event: snapshot\ndata: "
            case .row: "event: row\ndata: "
            case .change: "event: change\ndata: "
            case .position: "event: position\n"
            }
        }
    }

    /// Appends a line of JSON.
    ///
    /// - Parameters:
    ///   - line: the JSON, without a line feed at the end.
    ///   - selected: the value of the member `selected`, which is added at the end; nil to add no such member.
    func append(
        _ kind: Kind, _ line: some Collection<UInt8>, selected: Bool? = nil, to bytes: inout [UInt8]
    ) {
        if syntax == .events { bytes.append(text: kind.field) }
        bytes.append(contentsOf: line)
        if let selected {
            bytes.removeLast()
            bytes.append(text: selected ? ",\"selected\":true}" : ",\"selected\":false}")
        }
        endLine(&bytes)
    }

    func append(_ position: Position, to bytes: inout [UInt8]) {
        if syntax == .events {
            bytes.append(text: Kind.position.field)
            bytes.append(text: "id: \(position.word)\ndata: ")
        }
        bytes.append(text: position.json)
        endLine(&bytes)
    }

    func line(of position: Position) -> ByteBuffer {
        var bytes: [UInt8] = []
        append(position, to: &bytes)
        return ByteBuffer(bytes: bytes)
    }

    private func endLine(_ bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\n"))
        if syntax == .events { bytes.append(UInt8(ascii: "\n")) }
    }
}
