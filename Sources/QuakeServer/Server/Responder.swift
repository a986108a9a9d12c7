import Feed
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import PostgreSQL
import QuakeStore
import Synchronization

/// Answers requests. One object for all connections: each of them, and each answer, refers to it.
final class Responder: Sendable {
    let sessions: Sessions
    let settings: ServerSettings
    let logger: Logger
    let accessLog: AccessLog?
    let quota: SpoolQuota
    let bounds: ClientBounds
    let board = StateBoard()
    let metrics = Metrics()
    let live: LiveChanges
    let catchUps: CatchUps
    let recent = RecentAnswers()
    let index: PageFile
    let embedded: PageFile
    /// The state of the catalogue now, without the settled documents.
    let current: SharedReading<CatalogueState>
    /// What the metrics say of the database.
    let status: SharedReading<(ImportStatus, HistoryStatus, NotifyStatus)>
    let missingMetrics = Mutex(RepeatedFailure())

    enum Scope {
        case everything
        /// All but the metrics, which are on another address.
        case clients
        /// The metrics, and health.
        case monitoring
    }

    private let currentPhase = Mutex(ShutdownPhase.serving)
    /// How far the server's shutdown has come.
    var phase: ShutdownPhase {
        get { currentPhase.withLock { $0 } }
        set { currentPhase.withLock { $0 = newValue } }
    }

    init(sessions: Sessions, settings: ServerSettings, logger: Logger, accessLog: AccessLog?) {
        (self.sessions, self.settings, self.logger, self.accessLog) = (sessions, settings, logger, accessLog)
        quota = SpoolQuota(settings.spooledBytes, metrics)
        live = LiveChanges(settings, metrics, logger: logger)
        index = PageFile.index(below: settings.basePath, at: settings.baseURL)
        embedded = PageFile.index(below: settings.basePath, at: settings.baseURL, isFramed: true)
        bounds = ClientBounds(settings)
        catchUps = CatchUps(live, quota, sessions, settings, logger: logger)
        status = SharedReading {
            try await sessions.use(.own) { connection in
                (
                    try await ImportStatus.read(on: connection), try await HistoryStatus.read(on: connection),
                    try await NotifyStatus.read(on: connection)
                )
            }
        }
        current = SharedReading {
            try await sessions.use(.own) { connection in
                try await connection.run { connection in
                    try await connection.expectingAnswer(within: .seconds(10)) {
                        try await CatalogueState.read(on: connection, hasSettled: false)
                    }
                }
            }
        }
    }

    private let hasNotedProxy = Atomic(false)

    /// Says once that a proxy seems to be in front whose word about the clients does not count.
    private func noteProxy(of client: Client, _ fields: HTTPFields) {
        guard let proxy = client.untrustedProxy(fields),
            !hasNotedProxy.exchange(true, ordering: .relaxed)
        else { return }
        logger.notice(
            """
            \(proxy) names clients in X-Forwarded-For, but is not a trusted proxy: all its clients count as one. \
            --trusted-proxy \(proxy) takes its word
            """)
    }

    /// - Throws: an error that came when part of the answer was written already; the connection is then to be closed, so that
    ///   the client sees that something is missing.
    @concurrent
    func respond(
        to request: HTTPRequest, _ writer: consuming ResponseWriter, for client: Client,
        on channel: any Channel
    ) async throws {
        let start = ContinuousClock.now
        let target = Target(request.path ?? "/", below: settings.basePath)
        let route = Route(path: target.path)
        metrics.count { $0.underWay += 1 }
        noteProxy(of: client, request.headerFields)
        var output = Output(writer)
        var hasLeft = false
        let result: Result<Void, any Error>
        do {
            try await answer(request, target, route, &output, for: client, on: channel)
            result = .success(())
        } catch {
            // A stream ends in no other way.
            hasLeft = !channel.isActive && !client.isStream
            result = .failure(error)
        }
        let status = hasLeft ? 0 : output.status
        let time = ContinuousClock.now - start
        metrics.count { $0.end(route.name, status: status, after: client.isStream ? nil : time) }
        if let accessLog {
            // The last bytes go to the socket on the loop of the channel. One that has ended has nothing left to send.
            try? await channel.eventLoop.submit {}.get()
            accessLog.write(LoggedRequest(request, target, of: client, status: status, time))
        }
        try result.get()
    }

    @concurrent
    private func answer(
        _ request: HTTPRequest, _ target: Target, _ route: Route, _ output: inout Output,
        for client: Client, on channel: any Channel
    ) async throws {
        let result: RouteResult
        do {
            result = try await found(request, target, route, for: client)
        } catch {
            result = .reply(reply(to: error, on: request))
        }
        let rateLimitKey = client.rateLimitKey(request.headerFields)
        switch result {
        case .reply(var reply):
            // The body is not read, and may be endless.
            if request.hasBody { reply.headers[.connection] = "close" }
            try await output.send(reply, toHead: request.method == .head, settings)
        case .answer(let answer):
            let delivery = Delivery(
                responder: self, answer: answer, request: request, rateLimitKey: rateLimitKey)
            try await delivery.run(&output, for: client, on: channel)
        case .changes(let changes):
            let delivery = ChangesDelivery(
                responder: self, request: changes, rateLimitKey: rateLimitKey, isHead: request.method == .head
            )
            try await delivery.run(&output, for: client, on: channel)
        }
    }

    /// The newest state that this process knows; nil if the database has not told it lately, or while a client that follows
    /// may know a newer one. Such a client is not told that what it has seen changing is unchanged.
    var knownState: CatalogueState? {
        guard let state = board.state, let age = board.age, age < settings.stateAge,
            state.position.token >= live.position()?.token ?? 0
        else { return nil }
        return state
    }

    /// What the request is answered with, if it is one that can be.
    ///
    /// - Throws: what `reply(to:on:)` puts into words.
    private func found(
        _ request: HTTPRequest, _ target: Target, _ route: Route, for client: Client
    ) async throws -> RouteResult {
        guard request.hasHost(isNeeded: client.takesChunks) else {
            throw Refusal(400, "A request of HTTP/1.1 has one Host, and its value is one.")
        }
        guard (request.path ?? "/").utf8.count <= settings.targetLength else {
            throw Refusal(414, "A request may have \(settings.targetLength) bytes.")
        }
        switch request.method {
        case .get, .head: break
        case .options:
            let headers: HTTPFields = [
                .allow: "GET, HEAD, OPTIONS", .accessControlAllowMethods: "GET, HEAD, OPTIONS",
                .accessControlAllowHeaders: "Accept, If-None-Match, Last-Event-ID",
                .accessControlMaxAge: "86400",
            ]
            return .reply(Reply(status: 204, headers: headers))
        default:
            throw Refusal(405, "This service only answers GET, HEAD and OPTIONS.")
        }
        guard !request.hasBody else { throw Refusal(413, "Request bodies are not accepted.") }
        switch route {
        case .health: return .reply(health)
        case .metrics where client.scope != .clients:
            return .reply(await metricsReply())
        case _ where client.scope == .monitoring, .metrics, .unknown:
            throw Refusal(404, "There is nothing under this path.")
        case .summary(let feed): return .answer(feed.answer(baseURL: baseURL(of: request)))
        case .detail(let code, let scope): return .answer(DetailFeed.answer(of: code, in: scope))
        case .coverage: return .answer(HeldPeriod.answer())
        case .event(let path):
            return try EventAPI.route(
                path: path, query: target.query ?? "", baseURL: baseURL(of: request), settings)
        case .changes:
            return .changes(
                try ChangesRequest(
                    target.query ?? "", request.headerFields, settings, takesChunks: client.takesChunks))
        case .history(let code):
            return .answer(EventHistory.answer(of: code, namesAuthors: settings.namesAuthors))
        case .page(let file, let isVersioned):
            return .reply(file.reply(to: request.headerFields, isVersioned: isVersioned))
        case .index(let isFramed):
            let rateLimitKey = client.rateLimitKey(request.headerFields)
            let index = await index(isFramed: isFramed, target.query, for: rateLimitKey)
            return .reply(index.reply(to: request.headerFields))
        }
    }

    func baseURL(of request: HTTPRequest) -> String {
        if let given = settings.baseURL { return given }
        let host = request.authority ?? ""
        let isPlain = host.utf8.allSatisfy { $0.isAlphanumeric || ".:[]_-".utf8.contains($0) }
        return "http://\(isPlain && (1...255).contains(host.utf8.count) ? host : "localhost")"
    }

    /// What the client is told about an error, if nothing was written yet. The log has the rest. The event service says it in
    /// the standard's form.
    func reply(to error: any Error, on request: HTTPRequest) -> Reply {
        let refusal = refusal(for: error)
        let target = Target(request.path ?? "/", below: settings.basePath)
        guard case .event = Route(path: target.path) else { return Reply(refusal) }
        // A target that is too long is not said again.
        let query = refusal.status == 414 ? "" : target.query.map { "?\($0)" } ?? ""
        let base = baseURL(of: request)
        let text = refusal.text(request: base + target.path + query, service: base + EventAPI.path)
        return Reply(refusal, as: text)
    }

    func refusal(for error: any Error) -> Refusal {
        switch error {
        case let refusal as Refusal: return refusal
        case is CancellationError: return .unavailable("The server is ending.")
        case let error as PostgresError:
            logger.warning("\(error)")
            if error.sqlState == "57014" { return .unavailable("The database took too long.") }
            let isAway =
                error.connectionLost
                || ["08", "40", "53", "57"].contains { error.sqlState?.hasPrefix($0) ?? false }
            return isAway
                ? .unavailable("The database is not available.")
                : Refusal(500, "The database refused the query.")
        case is TemporaryFileError:
            logger.error("\(error)")
            return .unavailable("There is no room for the answer.")
        default:
            logger.error("\(error)")
            return Refusal(500, "Something went wrong; the server's log says what.")
        }
    }
}

extension HTTPRequest {
    fileprivate var hasBody: Bool {
        headerFields[.contentLength].map { $0 != "0" } ?? (headerFields[.transferEncoding] != nil)
    }
}
