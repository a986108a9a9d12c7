import Feed
import HTTPTypes
import HummingbirdCore
import NIOCore
import PostgreSQL
import QuakeStore
import Synchronization

/// One stream of changes on its way to a client. What is not at hand is read from the database, through a spool, as for any
/// answer; then the client is live.
struct ChangesDelivery: Sendable {
    let responder: Responder
    let request: ChangesRequest
    let isHead: Bool

    private var live: LiveChanges { responder.live }
    private var settings: ServerSettings { responder.settings }

    /// Delivers the stream, until the client goes away or the server ends.
    ///
    /// - Parameter told: told the status, before the head is written.
    /// - Throws: an error that came after the head was written.
    @concurrent
    func run(
        _ writer: consuming ResponseWriter, for client: Client, on channel: any Channel, _ told: (Int) -> Void
    ) async throws {
        var output = StreamOutput(writer, HTTPResponse(request.form.format, settings))
        do {
            try live.enter()
            defer { live.leave() }
            if isHead {
                told(200)
                return try await output.finish()
            }
            try await follow(&output, client, channel)
            told(200)
            try await output.finish()
        } catch {
            guard !output.hasBegun, !client.isGone else {
                if output.hasBegun { told(200) }
                throw error
            }
            let reply = responder.reply(to: error)
            told(reply.status)
            try await output.refuse(reply, toHead: isHead, settings)
        }
    }

    @concurrent
    private func follow(_ output: inout StreamOutput, _ client: Client, _ channel: any Channel) async throws {
        let ring = live.ring
        var epoch: Int? = ring.epoch
        var position: Position
        var signature = ring.signature
        let known: Position? =
            switch request.start {
            case .now: ring.position
            case .position(let position)
            where ring.place(after: position, of: ring.signature, epoch: nil) != nil: position
            case .position, .token, .snapshot: nil
            }
        if let known {
            epoch = nil
            position = known
            var bytes = request.form.format.beginning
            request.form.format.append(known, to: &bytes)
            try await output.write(ByteBuffer(bytes: bytes))
        } else {
            (position, signature) = try await catchUp(.init(request.start), &output, client)
        }
        let handler = try await liveHandler(on: channel)
        while true {
            let (reached, table, since) = (position, signature, epoch)
            let end = await withCheckedContinuation { continuation in
                handler.eventLoop.execute {
                    handler.value.follow(after: reached, of: table, epoch: since, continuation)
                }
            }
            switch end {
            case .gone: throw CancellationError()
            case .ended: return
            case .restart(let reached):
                var backoff = Backoff(from: .milliseconds(250), to: .seconds(10))
                while true {
                    epoch = live.ring.epoch
                    let before = output.size
                    do {
                        (position, signature) = try await catchUp(
                            .position(reached, of: signature), &output, client)
                        break
                    } catch  where output.size == before && responder.reply(to: error).status == 503 {
                        // The database is away. Nobody has to come back for that.
                        guard !client.isGone, !live.ring.isEnding else { throw error }
                        try await output.write(ByteBuffer(bytes: request.form.format.heartbeat))
                        try await Task.sleep(for: backoff.next())
                    }
                }
            }
        }
    }

    /// What writes to the socket.
    private func liveHandler(on channel: any Channel) async throws -> NIOLoopBound<LiveClient> {
        let loop = live.loop(channel.eventLoop)
        return try await channel.eventLoop.submit {
            [request, live, settings] () -> NIOLoopBound<LiveClient> in
            let client = LiveClient(request.form, live, loop, settings)
            try channel.pipeline.syncOperations.addHandler(client, position: .first)
            return NIOLoopBound(client, eventLoop: channel.eventLoop)
        }.get()
    }

    // MARK: What is not at hand

    /// Writes one pass, read by a session.
    @concurrent
    private func catchUp(
        _ start: StreamedPass.Start, _ output: inout StreamOutput, _ client: Client
    ) async throws -> (position: Position, signature: String) {
        let spool = AnswerSpool(in: responder.room)
        client.begin(spool)
        defer { client.end() }
        let pass = StreamedPass(start: start, form: request.form, isFirst: !output.hasBegun, spool: spool)
        let reading = Task { await read(pass) }
        let timer = Task { [settings] in
            try await Task.sleep(for: settings.requestTime)
            spool.finish(Reply.unavailable("The answer took too long."))
        }
        defer {
            reading.cancel()
            timer.cancel()
        }
        while let bytes = try await spool.next() { try await output.write(bytes) }
        guard let reached = pass.reached else { throw CancellationError() }
        return reached
    }

    /// After a restart of the server, each session notices only by its next statement that it is lost. As long as nothing
    /// was written, another one can read the pass.
    private func read(_ pass: StreamedPass) async {
        var logger = responder.logger
        // What happens to one client is not worth a line.
        logger.logLevel = max(logger.logLevel, .warning)
        var attempts = settings.sessions + 1
        while true {
            attempts -= 1
            do {
                try await live.turns.take {
                    try await responder.sessions.use { connection in
                        try await pass.read(over: connection, logger: logger)
                    }
                }
                return pass.spool.finish()
            } catch let error as PostgresError
                where error.connectionLost && !pass.hasWritten && attempts > 0
            {
                continue
            } catch {
                if pass.hasWritten, !(error is CancellationError) {
                    responder.logger.error("a stream of changes broke off: \(error)")
                }
                return pass.spool.finish(error)
            }
        }
    }
}

/// The response of a stream: its head is written with the first bytes.
private struct StreamOutput: ~Copyable {
    private var writer: ResponseWriter?
    private var body: (any ResponseBodyWriter)?
    private let head: HTTPResponse

    init(_ writer: consuming ResponseWriter, _ head: HTTPResponse) {
        self.writer = consume writer
        self.head = head
    }

    var hasBegun: Bool { body != nil }
    /// How many bytes of the body were written.
    private(set) var size = 0

    @concurrent
    mutating func write(_ bytes: ByteBuffer) async throws {
        if let writer = writer.take() { body = try await writer.writeHead(head) }
        size += bytes.readableBytes
        try await body?.write(bytes)
    }

    @concurrent
    mutating func finish() async throws {
        if let writer = writer.take() { return try await writer.writeResponse(head) }
        try await body?.finish(nil)
    }

    @concurrent
    mutating func refuse(_ reply: Reply, toHead isHead: Bool, _ settings: ServerSettings) async throws {
        guard let writer = writer.take() else { return }
        try await writer.write(reply, toHead: isHead, settings)
    }
}
