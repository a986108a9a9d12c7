import Foundation
import QuakeStore
import Synchronization
import TestSupport

/// A client of `/changes`: reads the stream event by event.
final class StreamClient: Sendable {
    private let socket: LoopbackSocket
    private let state = Mutex(State())
    /// The head of the answer, as received.
    let head: String

    private struct State {
        var bytes: ArraySlice<UInt8> = []
        /// The body, without the chunks' sizes.
        var body: [UInt8] = []
        var hasEnded = false
    }

    /// One event, or one line.
    struct Event: Sendable, Equatable {
        /// Empty for a line, a heartbeat and `retry`.
        var name = ""
        var id: String?
        var data = ""

        /// The members of the data.
        var members: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]) ?? [:]
        }
        /// A position is the only message whose first member is `store`.
        var isPosition: Bool { data.hasPrefix(#"{"store":"#) }
        var isChange: Bool { members["operation"] != nil }
        var isSnapshot: Bool { members["snapshot"] != nil }
        /// The place of a change in the history: `token.ordinal`.
        var place: String { Self.place(members) }

        static func place(_ members: [String: Any]) -> String {
            "\(members["token"] ?? "").\(members["ordinal"] ?? "")"
        }
    }

    private let isEvents: Bool

    private init(_ site: TestSite, _ target: String, _ headers: [String: String]) {
        isEvents = headers["Accept"]?.contains("event-stream") ?? false
        let fields = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        let socket = LoopbackSocket()
        self.socket = socket
        socket.connect(to: site.port)
        Array("GET \(target) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n".utf8).withUnsafeBytes {
            _ = socket.write($0)
        }
        head = socket.readHead()
    }

    /// Runs `body` with a client, whose connection is closed afterwards.
    static func with<Result: Sendable>(
        _ site: TestSite, _ query: String = "", events: Bool = true, lastID: String? = nil,
        _ body: (StreamClient) async throws -> Result
    ) async throws -> Result {
        var headers = events ? ["Accept": "text/event-stream"] : [:]
        if let lastID { headers["Last-Event-ID"] = lastID }
        let target = "/changes\(query.isEmpty ? "" : "?\(query)")"
        let client = await onThread { [headers] in StreamClient(site, target, headers) }
        defer { client.close() }
        return try await body(client)
    }

    func close() { socket.shutDown() }

    deinit { socket.close() }

    var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    /// The next event that is not a heartbeat; nil at the end of the body. Has no time limit.
    func next() async -> Event? {
        await onThread { self.read() }
    }

    /// The events up to and including the next position, or up to the end of the stream.
    func pass() async -> [Event] {
        await onThread {
            var events: [Event] = []
            while let event = self.read() {
                events.append(event)
                if event.isPosition { break }
            }
            return events
        }
    }

    /// The events up to and including the first position whose token is `token` or higher.
    func events(upTo token: Int) async -> [Event] {
        var all: [Event] = []
        while case let events = await pass(), let last = events.last {
            all += events
            if last.isPosition, last.members["token"] as? Int ?? 0 >= token { break }
        }
        return all
    }

    /// Waits until the body received so far ends with `end`, or until the stream ends.
    func waitForText(_ end: String) async {
        await onThread { while !self.text.hasSuffix(end), self.readChunk() {} }
    }

    /// Whether the body ended with its last chunk.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// The body received so far.
    var text: String { state.withLock { String(decoding: $0.body, as: UTF8.self) } }

    private let unreadBytes = Mutex(0)

    private func read() -> Event? {
        let end: [UInt8] = Array((isEvents ? "\n\n" : "\n").utf8)
        while true {
            let block: String? = state.withLock { state in
                let from = unreadBytes.withLock { $0 }
                guard let range = Data(state.body[from...]).range(of: Data(end)) else { return nil }
                let block = state.body[from..<from + range.lowerBound]
                unreadBytes.withLock { $0 = from + range.upperBound }
                return String(decoding: block, as: UTF8.self)
            }
            if let block {
                let event = event(block)
                if !event.data.isEmpty { return event }
                continue
            }
            guard readChunk() else { return nil }
        }
    }

    private func event(_ block: String) -> Event {
        guard isEvents else { return Event(data: block) }
        var event = Event()
        for line in block.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
            switch parts[0] {
            case "event": event.name = value
            case "id": event.id = value
            case "data": event.data = value
            default: break
            }
        }
        return event
    }

    /// - Returns: false at the end of the body.
    private func readChunk() -> Bool {
        while true {
            let isTaken: Bool? = state.withLock { state in
                if state.hasEnded { return false }
                guard let line = state.bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
                let digits = state.bytes[..<line].dropLast()
                guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else { return false }
                let rest = state.bytes[(line + 1)...]
                guard rest.count >= size + 2 else { return nil }
                state.bytes = rest.dropFirst(size + 2)
                state.body += rest.prefix(size)
                state.hasEnded = size == 0
                return size > 0
            }
            if let isTaken { return isTaken }
            var piece = [UInt8](repeating: 0, count: 64 << 10)
            let count = piece.withUnsafeMutableBytes { socket.read($0) }
            guard count > 0 else { return false }
            state.withLock { $0.bytes = ArraySlice($0.bytes + piece[..<count]) }
        }
    }
}

/// The copy that a client builds from a stream by the rules in docs/following.md.
struct StreamReplica: Sendable {
    /// The JSON document in which each row arrived, by the row's code.
    private var documents: [String: String] = [:]
    var token = 0
    var id: String?
    /// The places of the changes, in the order of their arrival.
    var changes: [String] = []
    var snapshots: [String] = []

    var codes: Set<String> { Set(documents.keys) }

    /// The rows as JSON with sorted members, by code.
    var rows: [String: String] {
        get throws {
            try documents.mapValues { try Self.text(StreamClient.Event(data: $0).members["row"]) }
        }
    }

    mutating func apply(_ events: [StreamClient.Event]) throws {
        for event in events { try apply(event) }
    }

    mutating func apply(_ event: StreamClient.Event) throws {
        if event.name == "away" { return }
        let members = event.members
        let row = members["row"] as? [String: Any]
        if let reason = members["snapshot"] as? String {
            snapshots.append(reason)
            documents = [:]
        } else if event.isPosition {
            token = try (members["token"] as? Int).unwrapped
            id = event.id
        } else if let operation = members["operation"] as? String {
            let key = try (members["key"] as? String).unwrapped
            changes.append(StreamClient.Event.place(members))
            if members["selected"] as? Bool == false {
                documents[key] = nil
            } else if row != nil {
                documents[key] = event.data
            } else if operation == "delete" {
                documents[key] = nil
            }
        } else {
            documents[try (row?["code"] as? String).unwrapped] = event.data
        }
    }

    private static func text(_ row: Any?) throws -> String {
        let row = try (row as? [String: Any]).unwrapped
        return String(
            decoding: try JSONSerialization.data(withJSONObject: row, options: .sortedKeys), as: UTF8.self)
    }

    /// The table, in the form of `rows`.
    static func table(of database: TestDatabase) async throws -> [String: String] {
        let rows = try await database.withConnection { connection in
            try await connection.execute(script: "set timezone = 'UTC'", to: "set the time zone")
            return try await connection.query(
                "select code, to_jsonb(quake)::text as row from quake", to: "read the table")
        }
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                let json = try JSONSerialization.jsonObject(
                    with: Data(row.decode("row", as: String.self).utf8))
                return (try row.decode("code"), try text(json))
            })
    }
}
