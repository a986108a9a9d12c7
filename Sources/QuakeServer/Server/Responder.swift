import Feed
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import PostgreSQL
import QuakeStore

/// Answers requests.
struct Responder: Sendable {
    let sessions: Sessions
    let settings: ServerSettings
    let logger: Logger
    let room: SpoolRoom
    let board = StateBoard()
    let metrics = Metrics()

    init(sessions: Sessions, settings: ServerSettings, logger: Logger) {
        (self.sessions, self.settings, self.logger) = (sessions, settings, logger)
        room = SpoolRoom(settings)
    }

    /// Answers one request.
    ///
    /// - Throws: an error that came when part of the answer was written already; the connection is then to be closed, so that
    ///   the client sees that something is missing.
    @concurrent
    func respond(
        to request: HTTPRequest, _ writer: consuming ResponseWriter, for client: Client,
        on channel: any Channel
    ) async throws {
        let start = ContinuousClock.now
        let target = Target(request.path ?? "/")
        let route = Route(path: target.path)
        let counted = metrics.begin(route)
        var status = 0
        defer {
            counted.end(status: status, after: .now - start)
            logger.debug(
                "\(request.method) \(target.path) \(status) in \((.now - start) / .milliseconds(1)) ms")
        }
        switch await result(of: request, target, route) {
        case .reply(var reply):
            status = reply.status
            if request.hasBody { reply.headers.append(("Connection", "close")) }
            try await writer.write(reply, to: request, settings)
            // A body may come for ever; nobody reads it.
            if request.hasBody { throw UnreadBody() }
        case .answer(let answer):
            let isCompressed = AcceptedEncoding.prefersGzip(request.headerFields[.acceptEncoding])
            if let state = board.state, let condition = request.headerFields[.ifNoneMatch],
                EntityTag(answer, state, isCompressed: isCompressed).isNamed(by: condition)
            {
                status = 304
                let head = HTTPResponse(answer, state, isCompressed: isCompressed, status: 304, settings)
                return try await writer.writeResponse(head)
            }
            let delivery = Delivery(
                responder: self, answer: answer, request: request, isCompressed: isCompressed)
            try await delivery.run(writer, for: client, on: channel) { status = $0 }
        }
    }

    private func result(of request: HTTPRequest, _ target: Target, _ route: Route) async -> RouteResult {
        do {
            return try await found(request, target, route)
        } catch {
            return .reply(reply(to: error, on: request))
        }
    }

    /// What the request is answered with, if it is one that can be.
    ///
    /// - Throws: what `reply(to:on:)` puts into words.
    private func found(_ request: HTTPRequest, _ target: Target, _ route: Route) async throws -> RouteResult {
        guard (request.path ?? "/").utf8.count <= settings.targetLength else {
            throw Reply(414, text: "A request may have \(settings.targetLength) bytes.")
        }
        switch request.method {
        case .get, .head: break
        case .options:
            var reply = Reply(204)
            reply.headers = [
                ("Allow", "GET, HEAD, OPTIONS"), ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
                ("Access-Control-Allow-Headers", "Accept, If-None-Match"),
                ("Access-Control-Max-Age", "86400"),
            ]
            return .reply(reply)
        default:
            var reply = Reply(405, text: "This service only answers GET, HEAD and OPTIONS.")
            reply.headers.append(("Allow", "GET, HEAD, OPTIONS"))
            throw reply
        }
        guard !request.hasBody else { throw Reply(413, text: "This service takes no bodies.") }
        switch route {
        case .health: return .reply(health)
        case .metrics: return .reply(await metricsReply(accepted: request.headerFields[.accept]))
        case .summary(let feed): return .answer(feed.answer(baseURL: baseURL(of: request)))
        case .detail(let code): return .answer(DetailFeed.answer(of: code))
        case .event(let path):
            return try EventService.route(
                path: path, query: target.query ?? "", baseURL: baseURL(of: request), settings)
        case .unknown: throw Reply(404, text: "There is nothing under this path.")
        }
    }

    /// What the URLs of an answer begin with.
    private func baseURL(of request: HTTPRequest) -> String {
        if let given = settings.baseURL { return given }
        let host = request.authority ?? ""
        return "http://\(host.wholeMatch(of: #/[A-Za-z0-9.:\[\]_-]{1,255}/#) == nil ? "localhost" : host)"
    }

    /// What the client is told about an error, if nothing was written yet. The log has the rest. The event service says it in
    /// the standard's form.
    func reply(to error: any Error, on request: HTTPRequest) -> Reply {
        let target = Target(request.path ?? "/")
        let reply = (error as? EventError).map { Reply($0.status, text: $0.details) } ?? reply(to: error)
        guard case .event = Route(path: target.path), let sentence = reply.sentence else { return reply }
        // A target that is too long is not said again.
        let query = reply.status == 414 ? "" : target.query.map { "?\($0)" } ?? ""
        var formed = Reply(
            EventError(reply.status, sentence), to: target.path + query, baseURL: baseURL(of: request))
        formed.headers = reply.headers
        return formed
    }

    private func reply(to error: any Error) -> Reply {
        switch error {
        case let reply as Reply: return reply
        case is CancellationError: return .unavailable("The server is ending.")
        case let error as PostgresError:
            logger.warning("\(error)")
            if error.sqlState == "57014" { return .unavailable("The database took too long.") }
            let isAway =
                error.connectionLost
                || ["08", "40", "53", "57"].contains { error.sqlState?.hasPrefix($0) ?? false }
            return isAway
                ? .unavailable("The database is not available.")
                : Reply(500, text: "The database refused the query.")
        case is TemporaryFileError:
            logger.error("\(error)")
            return .unavailable("There is no room for the answer.")
        default:
            logger.error("\(error)")
            return Reply(500, text: "Something went wrong; the server's log says what.")
        }
    }
}

/// Closes a connection on which a body may follow.
private struct UnreadBody: Error {}

extension HTTPRequest {
    fileprivate var hasBody: Bool {
        headerFields[.contentLength].map { $0 != "0" } ?? (headerFields[.transferEncoding] != nil)
    }
}

extension ResponseWriter {
    /// Writes an answer that is whole.
    @concurrent
    consuming func write(
        _ reply: Reply, to request: HTTPRequest, _ settings: ServerSettings
    ) async throws {
        let head = HTTPResponse(reply, settings)
        guard request.method != .head, !reply.body.isEmpty else { return try await writeResponse(head) }
        try await write(response: head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: reply.body)))
    }
}
