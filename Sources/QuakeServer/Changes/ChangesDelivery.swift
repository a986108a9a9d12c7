import Feed
import HTTPTypes
import NIOCore
import QuakeStore

/// Delivers changes to a client, as a stream or as the answer to a long poll.
struct ChangesDelivery: Sendable {
    let responder: Responder
    let request: ChangesRequest
    let rateLimitKey: ClientAddress?
    let isHead: Bool

    var live: LiveChanges { responder.live }
    var settings: ServerSettings { responder.settings }
    var form: StreamForm { request.form }

    /// Runs until the poll is answered, the client leaves, or the server ends.
    ///
    /// - Throws: an error for which the client gets a reply if the head was not written yet; `CancellationError` if the client
    ///   has left.
    @concurrent
    func run(_ output: inout Output, for client: Client, on channel: any Channel) async throws {
        try responder.bounds.take(.stream, for: rateLimitKey)
        defer { responder.bounds.give(.stream, for: rateLimitKey) }
        try live.enter(form)
        defer { live.leave(form) }
        if let patience = request.patience {
            try await answerPoll(within: patience, &output, client, channel)
        } else {
            try await follow(&output, client, channel)
        }
    }

    // MARK: The stream

    /// Writes to the client. The head and the beginning of the stream are written before the first bytes.
    @concurrent
    private func write(_ bytes: ByteBuffer, to output: inout Output, _ client: Client) async throws {
        if !output.hasBegun {
            client.isStream = true
            try await output.begin(HTTPResponse(form, settings))
            let beginning = form.beginning
            if !beginning.isEmpty { try await output.write(ByteBuffer(bytes: beginning)) }
        }
        try await output.write(bytes)
    }

    /// Sends the stream. If the client has missed passes, they are first read from the database, once for all clients that need
    /// the same passes. Then the client gets the live passes.
    @concurrent
    private func follow(_ output: inout Output, _ client: Client, _ channel: any Channel) async throws {
        if isHead {
            client.isStream = true
            return try await output.send(HTTPResponse(form, settings))
        }
        let told = ToldOutage()
        let ring = live.ring
        var epoch: Int?
        var position: Position
        var signature = ring.signature
        if let known = ring.position(of: request.start) {
            position = known
            try await write(form.line(of: known), to: &output, client)
        } else {
            (position, signature, epoch) = try await catchUp(
                request.start, &output, client, channel, told)
        }
        let handler = try await liveHandler(on: channel, told)
        while true {
            let (reached, table, since) = (position, signature, epoch)
            let end = await withCheckedContinuation { continuation in
                handler.eventLoop.execute {
                    handler.value.follow(after: reached, of: table, epoch: since, continuation)
                }
            }
            switch end {
            case .gone: throw CancellationError()
            // The head has been written by now, because each client gets at least a position.
            case .ended: return try await output.finish()
            case .restart(let reached):
                (position, signature, epoch) = try await catchUp(
                    .position(reached, of: signature), &output, client, channel, told)
            }
        }
    }

    private func liveHandler(
        on channel: any Channel, _ told: ToldOutage
    ) async throws -> NIOLoopBound<LiveClient> {
        let loop = live.loop(channel.eventLoop)
        return try await channel.eventLoop.submit {
            [request, live, settings] () -> NIOLoopBound<LiveClient> in
            // The client may have left in the meantime.
            guard channel.isActive else { throw CancellationError() }
            let client = LiveClient(request.form, for: rateLimitKey, live, loop, told, settings)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(client, position: .after(pipeline.handler(type: ClientLimits.self)))
            return NIOLoopBound(client, eventLoop: channel.eventLoop)
        }.get()
    }

    // MARK: Missed passes

    /// Reads one pass from the database and writes it. If reading fails with status 503 after the head was written, and before
    /// any byte of the pass, it is repeated. The client gets heartbeats in the meantime.
    @concurrent
    private func catchUp(
        _ start: ChangesRequest.Start, _ output: inout Output, _ client: Client, _ channel: any Channel,
        _ told: ToldOutage
    ) async throws -> (Position, String?, epoch: Int?) {
        var backoff = Backoff.reconnecting
        let known = start.position.map(form.line)
        while true {
            let (catchUp, reader) = try responder.catchUps.reader(start, form, for: rateLimitKey) {
                channel.close(promise: nil)
            }
            client.begin { reader.leave() }
            // While the client waits, it gets heartbeats. The head is written before the first heartbeat.
            let interval = TimeAmount(settings.heartbeat / 3)
            let timer = channel.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
                reader.poke()
            }
            defer {
                timer.cancel()
                client.end()
                reader.leave()
            }
            var hasWritten = false
            do {
                while let bytes = try await reader.next() {
                    // The client already has this position.
                    if output.hasBegun, bytes == known { continue }
                    if bytes.readableBytes > 0 {
                        hasWritten = true
                        try await write(bytes, to: &output, client)
                    } else {
                        try await beat(&output, client)
                    }
                }
                guard let reached = catchUp.reached else { throw CancellationError() }
                return (reached.position, reached.signature, catchUp.epoch)
            } catch  where output.hasBegun && !hasWritten && responder.refusal(for: error).status == 503 {
                guard !client.isGone, !live.ring.isEnding else { throw error }
            }
            if let outage = live.outage, told.take(outage) {
                try await write(ByteBuffer(bytes: form.outage), to: &output, client)
            }
            try await beat(&output, client)
            try await Task.sleep(for: backoff.next())
        }
    }

    @concurrent
    private func beat(_ output: inout Output, _ client: Client) async throws {
        guard !output.hasBegun || .now - output.lastWrite >= settings.heartbeat else { return }
        try await write(ByteBuffer(bytes: form.heartbeat), to: &output, client)
    }
}
