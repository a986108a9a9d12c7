import Foundation
import Synchronization

/// A real HTTP server on loopback that runs until `body` returns. Its answers come from a function or from a list.
public struct TestFeedServer: Sendable {
    public indirect enum Answer: Sendable {
        /// Waits until the condition holds, and then gives the answer.
        case held(Answer, until: @Sendable () -> Bool)
        case whole(TestStatus, [UInt8], headers: TestHeaders = [:])
        /// Promises more bytes than it sends, and closes the connection.
        case cutOff([UInt8], promised: Int)
        /// Sends a chunk, and closes the connection before the last chunk.
        case cutOffChunked([UInt8])
        /// Sends these bytes, and then nothing more; the connection stays open.
        case stalled([UInt8], promised: Int)
        /// Sends these bytes, and resets the connection.
        case reset([UInt8], promised: Int)
        /// Resets the connection without sending a byte.
        case resetAtOnce
        /// Never answers.
        case silent
        /// Sends text that is not HTTP.
        case raw(String)

        /// The same answer with `text` replaced in its body. An answer other than `whole` is not changed.
        public func replacing(_ text: String, with other: String) -> Answer {
            guard case .whole(let status, let body, let headers) = self else { return self }
            let changed = String(decoding: body, as: UTF8.self).replacing(text, with: other)
            return .whole(status, Array(changed.utf8), headers: headers)
        }
    }

    public let port: Int
    public var scheme = "http"
    fileprivate let log: ServerLog

    public func url(_ path: String) -> String { "\(scheme)://127.0.0.1:\(port)\(path)" }

    /// The requests received so far.
    public var requests: [TestRequest] { log.requests.withLock { $0 } }
    public var openConnections: Int { log.openConnections.withLock { $0 } }

    public static func run<Result>(
        isolation: isolated (any Actor)? = #isolation, tls: TestTLS? = nil,
        answering answer: @escaping @Sendable (TestRequest) -> Answer,
        _ body: (TestFeedServer) async throws -> Result
    ) async throws -> Result {
        let log = ServerLog()
        let listener = try LoopbackSocket.bound()
        defer { listener.shutDown() }
        listener.accepting { client in
            log.openConnections.withLock { $0 += 1 }
            defer { log.openConnections.withLock { $0 -= 1 } }
            guard let connection = TestConnection(client, tls) else { return client.close() }
            guard let head = connection.readHead() else { return connection.close() }
            let request = TestRequest(head: head)
            log.requests.withLock { $0.append(request) }
            answer(request).give(to: connection)
        }
        return try await body(
            TestFeedServer(port: listener.port, scheme: tls == nil ? "http" : "https", log: log))
    }

    /// Answers the first request with the first answer, the second with the second, and so on. The last answer also serves all
    /// further requests.
    public static func run<Result>(
        isolation: isolated (any Actor)? = #isolation, script: [Answer],
        _ body: (TestFeedServer) async throws -> Result
    ) async throws -> Result {
        let next = Mutex(0)
        return try await run { _ in
            script[
                next.withLock { index in
                    defer { index = min(index + 1, script.count - 1) }
                    return index
                }]
        } _: {
            try await body($0)
        }
    }
}

/// The description leaves out the bytes.
extension TestFeedServer.Answer: CustomStringConvertible {
    public var description: String {
        switch self {
        case .held(let answer, _): "held: \(answer)"
        case .whole(let status, let body, let headers): "\(status), \(body.count) bytes, \(headers)"
        case .cutOff(let body, let promised): "cut off after \(body.count) of \(promised) bytes"
        case .cutOffChunked(let body): "cut off after a chunk of \(body.count) bytes"
        case .stalled(let body, let promised): "stalled after \(body.count) of \(promised) bytes"
        case .reset(let body, let promised): "reset after \(body.count) of \(promised) bytes"
        case .resetAtOnce: "reset at once"
        case .silent: "silent"
        case .raw(let text): text
        }
    }
}

private final class ServerLog: Sendable {
    let requests = Mutex<[TestRequest]>([])
    let openConnections = Mutex(0)
}

extension TestFeedServer.Answer {
    /// Sends the answer, and closes the connection.
    fileprivate func give(to connection: TestConnection) {
        switch self {
        case .held(let answer, let isTime):
            while !isTime() {
                if connection.socket.isClosed(within: 5) { return connection.close() }
            }
            return answer.give(to: connection)
        case .whole(let status, let body, let headers):
            connection.write("HTTP/1.1 \(status)\r\n\(headers)content-length: \(body.count)\r\n\r\n")
            connection.write(body)
        case .cutOff(let body, let promised):
            connection.write(Self.begin(body, promised))
        case .cutOffChunked(let body):
            connection.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            if !body.isEmpty { connection.write("\(String(body.count, radix: 16))\r\n") }
            connection.write(body)
            if !body.isEmpty { connection.write("\r\n") }
        case .stalled(let body, let promised):
            connection.write(Self.begin(body, promised))
            connection.waitUntilClosed()
        case .reset(let body, let promised):
            connection.write(Self.begin(body, promised))
            return connection.reset()
        case .resetAtOnce: return connection.reset()
        case .silent: connection.waitUntilClosed()
        case .raw(let text): connection.write(text)
        }
        connection.close()
    }

    private static func begin(_ body: [UInt8], _ promised: Int) -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\ncontent-length: \(promised)\r\n\r\n".utf8) + body
    }
}
