import HTTPTypes
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
    /// - Throws: an error that came after the head was written.
    @concurrent
    func run(_ output: inout Output, for client: Client, on channel: any Channel) async throws {
        let spool = AnswerSpool(in: responder.room) { channel.close(promise: nil) }
        client.begin(spool)
        defer { client.end() }
        let opening = Opening()
        let end = channel.eventLoop.scheduleTask(in: TimeAmount(settings.requestTime)) {
            spool.finish(Refusal.unavailable("The answer took too long."))
            if opening.known.withLock({ $0.isWritten }) { channel.close(promise: nil) }
        }
        defer { end.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { await fill(spool, opening) }
            let first: ByteBuffer?
            let state: CatalogueState
            do {
                first = try await request.method == .head ? length(of: spool) : spool.next()
                guard let read = opening.known.withLock({ $0.state }) else { throw CancellationError() }
                state = read
            } catch {
                // Nobody is there to be told.
                if client.isGone { throw error }
                var reply = responder.reply(to: error, on: request)
                if let state = opening.known.withLock({ $0.state }) {
                    if reply.status == 204 {
                        return try await output.send(bareHead(isKnown(at: state) ? 304 : 204, of: state))
                    }
                    reply.headers.append((HTTPField.Name.quakesToken.rawName, "\(state.position.token)"))
                }
                return try await output.send(reply, toHead: request.method == .head, settings)
            }
            if isKnown(at: state) { return try await output.send(bareHead(304, of: state)) }
            opening.known.withLock { $0.isWritten = true }
            let isWhole = spool.isAtEnd
            let head = head(of: state, first, isWhole: isWhole)
            guard request.method != .head, var piece = first else { return try await output.send(head) }
            if isWhole {
                count(piece)
                if let key {
                    let body = RecentAnswers.Body(bytes: piece, rows: opening.known.withLock { $0.rows })
                    responder.recent.keep(body, key, at: state)
                }
                return try await output.send(head, piece)
            }
            try await output.begin(head)
            while true {
                try await output.write(piece)
                // Writing waits while the channel is full, and it says so only once its loop has taken these bytes. A loop that
                // is behind would be given a whole answer.
                try await channel.eventLoop.submit {}.get()
                count(piece)
                guard let next = try await spool.next() else { break }
                piece = next
            }
            try await output.finish()
        }
    }

    private func count(_ bytes: ByteBuffer) {
        responder.metrics.count { $0.bytes += bytes.readableBytes }
    }

    /// Whether the client has the answer already.
    private func isKnown(at state: CatalogueState) -> Bool {
        EntityTag(answer, state, isCompressed: isCompressed)
            .isNamed(by: request.headerFields[.ifNoneMatch], isThere: true)
    }

    /// The head of an answer without a body, or what all heads of the answer say.
    private func bareHead(_ status: Int, of state: CatalogueState) -> HTTPResponse {
        HTTPResponse(answer, state, isCompressed: isCompressed, status: status, settings)
    }

    /// Reads the whole body, and returns its length in place of it.
    private func length(of spool: AnswerSpool) async throws -> ByteBuffer? {
        var count = 0
        while let bytes = try await spool.next() { count += bytes.readableBytes }
        return ByteBuffer(integer: count)
    }

    private func head(of state: CatalogueState, _ first: ByteBuffer?, isWhole: Bool) -> HTTPResponse {
        var head = bareHead(200, of: state)
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
        /// Also how many events the answer has, once all are read, and whether the response's head was written.
        let known = Mutex<(state: CatalogueState?, rows: Int, isWritten: Bool)>((nil, 0, false))

        func begin(_ state: CatalogueState) { known.withLock { $0.state = state } }
    }

    // MARK: The writing side

    private func fill(_ spool: AnswerSpool, _ opening: Opening) async {
        let writer = AnswerWriter(spool, isCompressed: isCompressed)
        do {
            try await write(writer, opening)
            let rows = writer.rows
            opening.known.withLock { $0.rows = rows }
            try writer.finish()
            responder.metrics.count { $0.rows += rows }
        } catch {
            if writer.hasWritten, !(error is CancellationError) {
                responder.logger.error("an answer broke off: \(error)")
            }
            spool.finish(error)
        }
    }

    private func write(_ writer: AnswerWriter, _ opening: Opening) async throws {
        if answer.lane == .costly { try responder.bounds.take(.costly, for: customer) }
        defer { if answer.lane == .costly { responder.bounds.give(.costly, for: customer) } }
        try await responder.sessions.useAnother(
            answer.lane, for: customer, unless: writer.hasWritten
        ) { connection in
            try await connection.run { connection in
                if let writeAtOnce = answer.writeAtOnce,
                    try writeAtOnce(connection, settings.statementTime, writer, opening.begin)
                {
                    return
                }
                try await CatalogueState.withSnapshot(
                    on: connection, limit: settings.statementTime, hasSettled: answer.edition != nil
                ) { state in
                    opening.begin(state)
                    try await answer.write(connection, state, writer)
                }
            }
        }
    }
}
