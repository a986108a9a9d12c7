import HTTPTypes
import NIOCore
import PostgreSQL
import QuakeStore
import Synchronization

/// Delivers one answer: a session fills a spool, and the client reads from it at its own pace.
struct Delivery: Sendable {
    let responder: Responder
    let answer: Answer
    let request: HTTPRequest
    let rateLimitKey: ClientAddress?
    private let isCompressed: Bool
    /// The key for `RecentAnswers`; nil if the answer is never kept there.
    private let key: String?

    init(responder: Responder, answer: Answer, request: HTTPRequest, rateLimitKey: ClientAddress?) {
        (self.responder, self.answer, self.request, self.rateLimitKey) = (
            responder, answer, request, rateLimitKey
        )
        isCompressed = AcceptedEncoding.prefersGzip(request.headerFields[.acceptEncoding])
        let isKept = request.method == .get && answer.edition == nil
        key = isKept ? "\(isCompressed) \(responder.baseURL(of: request)) \(answer.key)" : nil
    }

    private var settings: ServerSettings { responder.settings }

    /// Delivers a 304, an answer from `RecentAnswers`, or a new answer.
    ///
    /// - Throws: an error that occurred after the head was written, or after the client had left.
    @concurrent
    func run(_ output: inout Output, for client: Client, on channel: any Channel) async throws {
        if let state = responder.knownState, isKnown(at: state, isThere: false) {
            return try await output.send(head(304, of: state))
        }
        guard let (body, state) = await keptBody() else {
            return try await make(&output, for: client, on: channel)
        }
        if isKnown(at: state) { return try await output.send(head(304, of: state)) }
        responder.metrics.count { $0.rows += body.rows }
        try await output.send(head(of: state, length: body.bytes.readableBytes), body.bytes)
    }

    /// A recent answer, if the catalogue has not changed since that answer. The state is read again, because the last known state
    /// may be some milliseconds old, and an answer must not be outdated at all. One small query serves all requests that arrive
    /// at the same moment.
    private func keptBody() async -> (RecentAnswers.Body, CatalogueState)? {
        // If the state cannot be read, the caller reads the answer from the database, which fails as well and reports the reason.
        guard let key, responder.recent.has(key), case .success(let state) = await responder.current.result()
        else { return nil }
        return responder.recent.body(key, at: state).map { ($0, state) }
    }

    @concurrent
    private func make(_ output: inout Output, for client: Client, on channel: any Channel) async throws {
        let spool = Spool(in: responder.quota)
        guard let reader = spool.reader(closing: { channel.close(promise: nil) }) else { return }
        client.begin { reader.leave() }
        defer {
            client.end()
            reader.leave()
        }
        let writer = AnswerWriter(spool, isCompressed: isCompressed)
        let hasHead = Mutex(false)
        let end = channel.eventLoop.scheduleTask(in: TimeAmount(settings.requestTime)) {
            spool.finish(Refusal.unavailable("The answer took too long."))
            if hasHead.withLock({ $0 }) { channel.close(promise: nil) }
        }
        defer { end.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { await fill(spool, writer) }
            let first: ByteBuffer?
            var length: Int
            let state: CatalogueState
            do {
                first = try await reader.next()
                length = first?.readableBytes ?? 0
                if request.method == .head {
                    while let next = try await reader.next() { length += next.readableBytes }
                }
                guard let read = writer.catalogue else { throw CancellationError() }
                state = read
            } catch {
                if client.isGone { throw error }
                var reply = responder.reply(to: error, on: request)
                if let state = writer.catalogue {
                    if reply.status == 204 {
                        return try await output.send(head(isKnown(at: state) ? 304 : 204, of: state))
                    }
                    reply.headers[.quakesToken] = answer.position(at: state).map { "\($0.token)" }
                }
                return try await output.send(reply, toHead: request.method == .head, settings)
            }
            if isKnown(at: state) { return try await output.send(head(304, of: state)) }
            hasHead.withLock { $0 = true }
            guard request.method != .head, var piece = first else {
                return try await output.send(head(of: state, length: length))
            }
            if reader.isAtEnd {
                responder.metrics.count { $0.rows += writer.rows }
                if let key {
                    responder.recent.keep(.init(bytes: piece, rows: writer.rows), key, at: state)
                }
                return try await output.send(head(of: state, length: length), piece)
            }
            try await output.begin(head(of: state))
            while true {
                try await output.write(piece)
                // `write` waits while the channel is full. But the channel counts only the bytes that its event loop has already
                // taken. Without the next line, the whole answer could queue up in front of a busy event loop.
                try await channel.eventLoop.submit {}.get()
                guard let next = try await reader.next() else { break }
                piece = next
            }
            try await output.finish()
            responder.metrics.count { $0.rows += writer.rows }
        }
    }

    /// Whether the client already has the answer from this state, according to its `If-None-Match`.
    ///
    /// - Parameter isThere: whether it is certain that the answer is not an error.
    private func isKnown(at state: CatalogueState, isThere: Bool = true) -> Bool {
        EntityTag(answer, state, isCompressed: isCompressed, settings)
            .isNamed(by: request.headerFields[.ifNoneMatch], isThere: isThere)
    }

    private func head(_ status: Int = 200, of state: CatalogueState, length: Int? = nil) -> HTTPResponse {
        var head = HTTPResponse(answer, state, isCompressed: isCompressed, status: status, settings)
        if let length { head.headerFields[.contentLength] = "\(length)" }
        return head
    }

    // MARK: The writing side

    private func fill(_ spool: Spool, _ writer: AnswerWriter) async {
        do {
            try await write(writer)
        } catch {
            if writer.hasWritten, !(error is CancellationError) {
                responder.logger.error("an answer broke off: \(error)")
            }
            spool.finish(error)
        }
    }

    private func write(_ writer: AnswerWriter) async throws {
        do {
            try await write(writer, in: answer.lane)
        } catch let error as PostgresError
            where error.isCancelledStatement && answer.lane == .short && !writer.hasWritten
        {
            // The request is not short after all, and must not delay short requests.
            try await write(writer, in: .costly)
        }
    }

    private func write(_ writer: AnswerWriter, in lane: Lane) async throws {
        if lane == .costly { try responder.bounds.take(.costly, for: rateLimitKey) }
        defer { if lane == .costly { responder.bounds.give(.costly, for: rateLimitKey) } }
        let limit = lane == .short ? settings.shortTime : settings.statementTime
        try await responder.sessions.useAnother(
            lane, for: rateLimitKey, unless: writer.hasWritten
        ) { connection in
            try await connection.run { connection in
                if try lane == .costly || answer.writeAtOnce?(connection, writer) != true {
                    try await CatalogueState.withSnapshot(
                        on: connection, limit: limit, hasSettled: answer.edition != nil
                    ) { state in
                        writer.note(state)
                        try await answer.write(connection, state, writer)
                    }
                }
                // `finish` may wait for the quota or for the disk. On the connection's thread, such a wait blocks no other work.
                try writer.finish()
            }
        }
    }
}
