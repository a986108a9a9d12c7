import Foundation
import Glibc
import Logging
import QuakeServer
import QuakeStore
import Synchronization
import TestSupport

/// A server for a test's database on a free port of this machine.
struct TestSite: Sendable {
    let database: TestDatabase
    let port: Int
    /// The port of the metrics, if they have their own address.
    var metricsPort: Int?
    /// The address as the server logs it.
    var address = ""

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Runs a server while `body` runs.
    static func run<Result: Sendable>(
        of database: TestDatabase, _ settings: ServerSettings = .patient,
        on address: ListeningAddress = .port(host: "127.0.0.1", 0),
        metricsApart: Bool = false, accessLog: AccessLog? = nil, logger: Logger = .quiet,
        _ body: @escaping @Sendable (TestSite) async throws -> Result
    ) async throws -> Result {
        let options = try database.options()
        let (ports, teller) = AsyncStream.makeStream(of: TestSite.self)
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                let local = ListeningAddress.port(host: "127.0.0.1", 0)
                let server = QuakeServer(options, settings, logger: logger, accessLog: accessLog)
                try await server.run(on: address, metricsOn: metricsApart ? local : nil) {
                    address, metrics in
                    teller.yield(
                        TestSite(
                            database: database, port: address.port ?? 0, metricsPort: metrics?.port,
                            address: "\(address)"))
                }
                return nil
            }
            group.addTask {
                for await site in ports { return try await body(site) }
                return nil
            }
            var result: Result?
            while result == nil, let ended = try await group.next() { result = ended }
            group.cancelAll()
            try await group.waitForAll()
            return try result.unwrapped
        }
    }

    /// Waits until the live passes have the newest change of the database. A poll that does not wait may miss a change that was
    /// committed just before.
    func reachNewestChange() async throws {
        let row = try await database.query("select token from history.position()")[0]
        let token: Int = try row.decode("token")
        try await waitUntil {
            let reached = try await get("/changes?after=now&wait=0").events.last?.position
            return (reached?.token ?? -1) >= token
        }
    }

    /// Sends a request on a new connection, and returns the answer.
    func get(_ path: String, method: String = "GET", _ headers: [String: String] = [:]) async throws
        -> TestAnswer
    {
        let fields = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(fields)Connection: close\r\n\r\n"
        return try TestAnswer(await send(Array(request.utf8)), isHead: method == "HEAD")
    }

    /// Sends `bytes`, and returns everything that arrives until the server closes the connection.
    func send(_ bytes: [UInt8]) async -> [UInt8] {
        await onThread {
            let socket = LoopbackSocket()
            defer { socket.close() }
            guard socket.connect(to: port) else { return [] }
            bytes.withUnsafeBytes { _ = socket.write($0) }
            return socket.readAll()
        }
    }
}

extension TestSite {
    /// Sends `requests` while reading, and returns everything that arrives until the server closes the connection.
    func pipelined(_ requests: String) async -> String {
        await onThread { [port] in
            let socket = LoopbackSocket()
            defer { socket.close() }
            socket.connect(to: port)
            Thread.detachNewThread { Array(requests.utf8).withUnsafeBytes { _ = socket.write($0) } }
            return String(decoding: socket.readAll(), as: UTF8.self)
        }
    }
}

extension Optional {
    struct Missing: Error {}

    var unwrapped: Wrapped {
        get throws {
            guard let self else { throw Missing() }
            return self
        }
    }
}

extension LoopbackSocket {
    /// Reads up to and including the empty line.
    func readHead() -> String {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard withUnsafeMutableBytes(of: &byte, { read($0) }) == 1 else { break }
            head.append(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }
}

/// A parsed answer.
struct TestAnswer: Sendable {
    let status: Int
    let headers: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    var token: Int? { headers["quakes-token"].flatMap { Int($0) } }

    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: `Broken` if the bytes are not exactly one answer.
    init(_ bytes: [UInt8], isHead: Bool = false) throws {
        var rest = bytes[...]
        try self.init(from: &rest, isHead: isHead)
        guard rest.isEmpty else { throw Broken(description: "\(rest.count) bytes follow the answer") }
    }

    /// Removes the first answer from `rest`.
    init(from rest: inout ArraySlice<UInt8>, isHead: Bool = false) throws {
        guard let end = Data(rest).range(of: Data("\r\n\r\n".utf8)) else {
            throw Broken(description: "no head: \(String(decoding: rest.prefix(200), as: UTF8.self))")
        }
        let lines = String(decoding: rest.prefix(end.lowerBound), as: UTF8.self).split(separator: "\r\n")
        rest = rest.dropFirst(end.upperBound)
        status = Int(lines[0].split(separator: " ")[1]) ?? 0
        headers = Dictionary(
            lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces))
            }, uniquingKeysWith: { "\($0), \($1)" })
        if isHead || status == 204 || status == 304 {
            body = []
        } else if let length = headers["content-length"].flatMap({ Int($0) }) {
            guard rest.count >= length else { throw Broken(description: "\(rest.count) of \(length) bytes") }
            body = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
        } else {
            body = try Self.chunks(&rest)
        }
    }

    private static func chunks(_ rest: inout ArraySlice<UInt8>) throws -> [UInt8] {
        var body: [UInt8] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")) {
            let size = Int(String(decoding: rest[rest.startIndex..<end], as: UTF8.self), radix: 16) ?? 0
            rest = rest[end...].dropFirst(2)
            guard rest.count >= size + 2 else { break }
            body += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
            if size == 0 { return body }
        }
        throw Broken(description: "the last chunk is missing")
    }
}

extension ServerSettings {
    /// Settings with time limits so long that no test reaches them, even on a machine that is a hundred times slower than usual.
    static var patient: ServerSettings {
        var settings = ServerSettings(version: "0")
        let long = Duration.seconds(3600)
        (settings.shortTime, settings.statementTime) = (long, long)
        (settings.costlyTime, settings.requestTime) = (long, long)
        (settings.readTime, settings.idleTime, settings.passTime) = (long, long, long)
        return settings
    }
}
