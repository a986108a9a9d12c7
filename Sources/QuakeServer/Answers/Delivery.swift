import HTTPTypes
import HummingbirdCore
import NIOCore
import PostgreSQL
import QuakeStore
import Synchronization

/// One answer on its way: a session fills a spool, and the client reads from it at its own pace.
struct Delivery: Sendable {
    let responder: Responder
    let answer: Answer
    let request: HTTPRequest
    /// For whom it is counted.
    let customer: ClientAddress?
    let isCompressed: Bool
    /// What the answer is kept under if it is short; nil for one that is not kept.
    let key: String?

    private var settings: ServerSettings { responder.settings }

    /// Delivers the answer.
    ///
    /// - Parameter told: told the status, before the head is written.
    /// - Throws: an error that came after the head was written.
    @concurrent
    func run(
        _ writer: consuming ResponseWriter, for client: Client, on channel: any Channel, _ told: (Int) -> Void
    ) async throws {
        let spool = AnswerSpool(in: responder.room) { channel.close(promise: nil) }
        client.begin(spool)
        defer { client.end() }
        var writer: ResponseWriter? = consume writer
        let opening = Opening()
        let end = channel.eventLoop.scheduleTask(in: TimeAmount(settings.requestTime)) {
            spool.finish(Refusal.unavailable("The answer took too long."))
            if opening.isWritten { channel.close(promise: nil) }
        }
        defer { end.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { await fill(spool, opening) }
            let first: ByteBuffer?
            let state: CatalogueState
            do {
                first = try await request.method == .head ? length(of: spool) : spool.next()
                guard let read = opening.state else { throw CancellationError() }
                state = read
            } catch {
                // Nobody is there to be told.
                if client.isGone { throw error }
                var reply = responder.reply(to: error, on: request)
                if let state = opening.state {
                    if reply.status == 204 { return try await finish(&writer, 204, state, told) }
                    reply.headers.append((HTTPField.Name.quakesToken.rawName, "\(state.position.token)"))
                }
                told(reply.status)
                return try await writer.take()!.write(reply, toHead: request.method == .head, settings)
            }
            if isKnown(at: state) { return try await finish(&writer, 200, state, told) }
            told(200)
            opening.isWritten = true
            let isWhole = spool.isAtEnd
            let head = head(of: state, first, isWhole: isWhole)
            if request.method == .head || first == nil { return try await writer.take()!.writeResponse(head) }
            if let first, isWhole {
                responder.metrics.countBytes(first.readableBytes)
                if let key {
                    let body = RecentAnswers.Body(bytes: first, rows: opening.rows)
                    responder.recent.keep(body, key, at: state)
                }
                return try await writer.take()!.write(
                    response: head, body: ResponseBody(byteBuffer: first))
            }
            var body = try await writer.take()!.writeHead(head)
            var next = first
            while let bytes = next {
                try await body.write(bytes)
                // Writing waits while the channel is full, and it says so only once its loop has taken these bytes. A loop that
                // is behind would be given a whole answer.
                try await channel.eventLoop.submit {}.get()
                responder.metrics.countBytes(bytes.readableBytes)
                next = try await spool.next()
            }
            try await body.finish(nil)
        }
    }

    /// Whether the client has the answer already.
    private func isKnown(at state: CatalogueState) -> Bool {
        EntityTag(answer, state, isCompressed: isCompressed)
            .isNamed(by: request.headerFields[.ifNoneMatch], isThere: true)
    }

    /// Writes an answer without a body.
    ///
    /// - Parameter status: what it is unless the client has it already.
    @concurrent
    private func finish(
        _ writer: inout ResponseWriter?, _ status: Int, _ state: CatalogueState, _ told: (Int) -> Void
    ) async throws {
        let status = isKnown(at: state) ? 304 : status
        told(status)
        try await writer.take()!.writeResponse(
            HTTPResponse(answer, state, isCompressed: isCompressed, status: status, settings))
    }

    /// Reads the whole body, and returns its length in place of it.
    private func length(of spool: AnswerSpool) async throws -> ByteBuffer? {
        var count = 0
        while let bytes = try await spool.next() { count += bytes.readableBytes }
        return ByteBuffer(integer: count)
    }

    private func head(of state: CatalogueState, _ first: ByteBuffer?, isWhole: Bool) -> HTTPResponse {
        var head = HTTPResponse(answer, state, isCompressed: isCompressed, status: 200, settings)
        if request.method == .head {
            head.headerFields[.contentLength] = first.flatMap { $0.getInteger(at: 0, as: Int.self) }.map(
                String.init)
        } else if isWhole {
            head.headerFields[.contentLength] = "\(first?.readableBytes ?? 0)"
        }
        return head
    }

    /// What is known once the answer's transaction has begun.
    private final class Opening: Sendable {
        private let known = Mutex<(state: CatalogueState?, rows: Int, isWritten: Bool)>((nil, 0, false))

        var state: CatalogueState? {
            get { known.withLock { $0.state } }
            set { known.withLock { $0.state = newValue } }
        }
        /// How many events the answer has, once all are read.
        var rows: Int {
            get { known.withLock { $0.rows } }
            set { known.withLock { $0.rows = newValue } }
        }
        /// Whether the response's head was written.
        var isWritten: Bool {
            get { known.withLock { $0.isWritten } }
            set { known.withLock { $0.isWritten = newValue } }
        }
    }

    // MARK: The writing side

    private func fill(_ spool: AnswerSpool, _ opening: Opening) async {
        let writer = AnswerWriter(spool, isCompressed: isCompressed)
        do {
            try await write(writer, opening)
            opening.rows = writer.rows
            try writer.finish()
            responder.metrics.countRows(writer.rows)
        } catch {
            if writer.hasWritten, !(error is CancellationError) {
                responder.logger.error("an answer broke off: \(error)")
            }
            spool.finish(error)
        }
    }

    /// After a restart of the server, each session notices only by its next statement that it is lost. As long as nothing
    /// was written, another one can make the answer.
    private func write(_ writer: AnswerWriter, _ opening: Opening) async throws {
        if answer.lane == .costly { try responder.bounds.take(.costly, for: customer) }
        defer { if answer.lane == .costly { responder.bounds.give(.costly, for: customer) } }
        var attempts = settings.sessions + 1
        while true {
            attempts -= 1
            do {
                return try await responder.sessions.use(answer.lane, for: customer) {
                    connection in
                    try await connection.run { connection in
                        if let writeAtOnce = answer.writeAtOnce,
                            try writeAtOnce(
                                connection, settings.statementTime, writer, { opening.state = $0 })
                        {
                            return
                        }
                        try await CatalogueState.withSnapshot(
                            on: connection, limit: settings.statementTime, hasSettled: answer.more != nil
                        ) { state in
                            opening.state = state
                            try await answer.write(connection, state, writer)
                        }
                    }
                }
            } catch let error as PostgresError
                where error.connectionLost && !writer.hasWritten && attempts > 0
            {
                continue
            }
        }
    }
}
