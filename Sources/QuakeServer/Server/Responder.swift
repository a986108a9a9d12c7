import Feed
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import PostgreSQL
import QuakeStore
import Synchronization

/// Answers requests. All connections and all deliveries of answers share one responder.
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
    /// Reads the catalogue's current state, without the settled documents.
    let current: SharedReading<CatalogueState>
    /// Reads the status of imports, history and notifications for the metrics.
    let status: SharedReading<(ImportStatus, HistoryStatus, NotifyStatus)>
    let missingMetrics = Mutex(RepeatedFailure())

    enum Scope {
        case everything
        /// Everything except the metrics, which another address serves.
        case clients
        /// Only the metrics and the health check.
        case monitoring
    }

    enum Phase {
        case serving
        /// The health check answers 503, so that load balancers stop sending clients. New requests are still served.
        case draining
        /// No new connections are accepted. Answers under way may still take a while.
        case closing
    }

    private let currentPhase = Mutex(Phase.serving)
    /// The current phase of the server's shutdown.
    var phase: Phase {
        get { currentPhase.withLock { $0 } }
        set { currentPhase.withLock { $0 = newValue } }
    }

    init(sessions: Sessions, settings: ServerSettings, logger: Logger, accessLog: AccessLog?) {
        (self.sessions, self.settings, self.logger, self.accessLog) = (sessions, settings, logger, accessLog)
        // On a small disk, the quota must be used up before the disk is full. Then only slow clients are disconnected.
        quota = SpoolQuota(min(settings.spooledBytes, TemporaryFile.freeSpace / 2), metrics)
        live = LiveChanges(settings, metrics, logger: logger)
        index = PageFile.index(below: settings.basePath, at: settings.baseURL)
        embedded = PageFile.index(below: settings.basePath, at: settings.baseURL, isFramed: true)
        bounds = ClientBounds(settings)
        catchUps = CatchUps(live, quota, sessions, settings, logger: logger)
        status = sessions.sharedReading(within: settings.shortTime) { connection in
            (
                try await ImportStatus.read(on: connection), try await HistoryStatus.read(on: connection),
                try await NotifyStatus.read(on: connection)
            )
        }
        current = sessions.sharedReading(within: .seconds(10)) { connection in
            try await CatalogueState.read(on: connection, hasSettled: false)
        }
    }

    private let hasNotedProxy = Atomic(false)

    /// Logs once that a proxy names its clients but is not a trusted proxy.
    private func noteProxy(of client: Client, _ fields: HTTPFields) {
        guard let proxy = client.untrustedProxy(fields),
            !hasNotedProxy.exchange(true, ordering: .relaxed)
        else { return }
        logger.notice(
            """
            \(proxy) names clients in X-Forwarded-For, but is not a trusted proxy, so all its clients \
            count as one. If it is your proxy, use --trusted-proxy \(proxy); any client can send this header
            """)
    }

    /// - Throws: an error that occurred after a part of the answer was written. The connection must then be closed, so that the
    ///   client sees that the answer is incomplete.
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
        var output = Output(writer, metrics)
        var hasLeft = false
        let result: Result<Void, any Error>
        do {
            try await answer(request, target, route, &output, for: client, on: channel)
            result = .success(())
        } catch {
            // A stream normally ends because its client leaves. So a stream is counted with the status that was sent, not with 0.
            hasLeft = !channel.isActive && !client.isStream
            result = .failure(error)
        }
        let status = hasLeft ? 0 : output.status
        let time = ContinuousClock.now - start
        metrics.count { $0.end(route.name, status: status, after: client.isStream ? nil : time) }
        if let accessLog {
            // Waits until the channel's event loop has written the last bytes, so that they are counted. A loop that was shut
            // down has nothing left to write.
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
        let rateLimitKey = client.rateLimitKey(request.headerFields)
        let isHead = request.method == .head
        var reply: Reply
        do {
            switch try await found(request, target, route, for: client) {
            case .reply(let found):
                reply = found
            case .answer(let answer):
                let delivery = Delivery(
                    responder: self, answer: answer, request: request, rateLimitKey: rateLimitKey)
                return try await delivery.run(&output, for: client, on: channel)
            case .changes(let changes):
                let delivery = ChangesDelivery(
                    responder: self, request: changes, rateLimitKey: rateLimitKey, isHead: isHead)
                return try await delivery.run(&output, for: client, on: channel)
            }
        } catch {
            guard !output.hasBegun, !client.isGone else { throw error }
            reply = self.reply(to: error, on: request)
        }
        // The request's body is not read and may be endless, so the connection cannot be used for another request.
        if request.hasBody { reply.headers[.connection] = "close" }
        try await output.send(reply, toHead: isHead, settings)
    }

    /// The newest state that this process has read. nil if the state is older than `stateAge`, or if the live changes are ahead
    /// of it: a client that has already received a newer change must not get a 304 from the older state.
    var knownState: CatalogueState? {
        guard let state = board.state, let age = board.age, age < settings.stateAge,
            state.position.token >= live.position()?.token ?? 0
        else { return nil }
        return state
    }

    /// Finds the reply, the answer or the stream for the request.
    ///
    /// - Throws: an error that `reply(to:on:)` turns into a reply.
    private func found(
        _ request: HTTPRequest, _ target: Target, _ route: Route, for client: Client
    ) async throws -> RouteResult {
        guard request.hasHost(isNeeded: client.takesChunks) else {
            throw Refusal(400, "An HTTP/1.1 request must have exactly one Host field with a valid value.")
        }
        guard (request.path ?? "/").utf8.count <= settings.targetLength else {
            throw Refusal(414, "A request's target may have at most \(settings.targetLength) bytes.")
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
            throw Refusal(404, "This path does not exist.")
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
            let reading = Task { await index(isFramed: isFramed, target.query, for: rateLimitKey) }
            client.begin { reading.cancel() }
            defer { client.end() }
            return .reply(await reading.value.reply(to: request.headerFields))
        }
    }

    func baseURL(of request: HTTPRequest) -> String {
        if let given = settings.baseURL { return given }
        let host = request.authority ?? ""
        let isPlain = host.utf8.allSatisfy { $0.isAlphanumeric || ".:[]_-".utf8.contains($0) }
        return "http://\(isPlain && (1...255).contains(host.utf8.count) ? host : "localhost")"
    }

    /// The reply to a request that failed before anything was written. It contains only the information that concerns the client;
    /// the log has the details. Replies of the event service have the form of the FDSN standard.
    func reply(to error: any Error, on request: HTTPRequest) -> Reply {
        let refusal = refusal(for: error)
        let target = Target(request.path ?? "/", below: settings.basePath)
        guard case .event = Route(path: target.path) else { return Reply(refusal) }
        // If the target was too long, the reply does not repeat its query.
        let query = refusal.status == 414 ? "" : target.query.map { "?\($0)" } ?? ""
        let base = baseURL(of: request)
        let text = refusal.text(request: base + target.path + query, service: base + EventAPI.path)
        return Reply(refusal, as: text)
    }

    func refusal(for error: any Error) -> Refusal {
        switch error {
        case let refusal as Refusal: return refusal
        case is CancellationError: return .unavailable("The server is shutting down.")
        // The client has left.
        case ChannelError.ioOnClosedChannel: return .unavailable("The connection was closed.")
        case let error as PostgresError:
            logger.warning("\(error)")
            if error.isCancelledStatement { return .unavailable("The database took too long.") }
            // The tables may be missing for a moment, as during a restore.
            return error.isPassing || error.isUndefinedObject
                ? .unavailable("The database is not available.")
                : Refusal(500, "The database refused the query.")
        // A temporary file can't be written or read.
        case let error as Failure where error.kind == .file:
            logger.error("\(error)")
            return .unavailable("The server cannot store the answer at the moment.")
        default:
            logger.error("\(error)")
            return Refusal(500, "Something went wrong; the server's log has the details.")
        }
    }
}

extension HTTPRequest {
    fileprivate var hasBody: Bool {
        headerFields[.contentLength].map { $0 != "0" } ?? (headerFields[.transferEncoding] != nil)
    }
}
