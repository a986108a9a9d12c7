import Feed
import HTTPTypes
import NIOCore
import QuakeStore

// Answers one long poll: sends all changes after the client's position, as soon as there are any. The last line is the position
// from which the client continues. If there were no changes in time, the last line repeats the client's own position.
//
// Clients that poll from the same position get the same bytes, so a cache in front of the server needs one request for all of
// them. A cached answer stays correct, because a client that gets it later polls again from the position at its end.
extension ChangesDelivery {
    /// How long a cache may keep an answer with changes, in seconds. A client that gets a cached answer then polls for newer
    /// changes.
    private static let keptFor = 60

    @concurrent
    func answerPoll(
        within time: Duration, _ output: inout Output, _ client: Client, _ channel: any Channel
    ) async throws {
        if isHead { return try await output.send(head(nil, seconds: 0)) }
        let (news, end) = (Signal(), NIODeadline.now() + TimeAmount(time))
        let timer = channel.eventLoop.scheduleTask(deadline: end) { news.wake() }
        func isOver() -> Bool { NIODeadline.now() >= end || live.ring.isEnding }
        defer {
            timer.cancel()
            client.end()
        }
        client.begin { news.wake() }
        while true {
            try Task.checkCancellation()
            guard !client.isGone else { throw CancellationError() }
            let ring = live.ring
            if case .now = request.start, let position = ring.position {
                return try await send(position, to: &output)
            }
            guard let place = place(in: ring) else {
                if try await sendHistory(to: &output, client, channel) { return }
                // `sendHistory` has registered another closure, for a reader that has left by now.
                client.begin { news.wake() }
                await live.wait(news, nil) { place(in: $0) != nil }
                // The history has nothing after the client's position, even if this process has not reached that position yet.
                if let position = request.start.position, isOver() {
                    return try await send(position, to: &output)
                }
                continue
            }
            if let selected = ready(place, ring), let newest = ring.position {
                try await output.begin(head(newest, seconds: Self.keptFor))
                return try await write(selected, after: place, to: &output)
            }
            if isOver() { return try await send(place.reached, to: &output) }
            await live.wait(news, form.filter) { now in
                now.epoch != ring.epoch || now.next != ring.next || ready(place, now) != nil
            }
        }
    }

    private func head(_ position: Position?, seconds: Int) -> HTTPResponse {
        HTTPResponse(upTo: position, seconds: seconds, settings)
    }

    @concurrent
    private func send(_ position: Position, to output: inout Output) async throws {
        try await output.send(head(position, seconds: 1), form.line(of: position))
    }

    // MARK: Changes from the live passes

    /// Writes live passes. If the client is so slow that one of the passes is no longer kept, the client's connection is closed.
    /// The client can poll again.
    ///
    /// - Parameter all: for each pass, the changes that the filter selects; nil without a filter.
    @concurrent
    private func write(
        _ all: [SelectedChanges?], after place: LivePlace, to output: inout Output
    ) async throws {
        for (number, selected) in zip(place.next..., all) {
            var from: Int?
            repeat {
                guard let pass = live.ring[number] else { throw CancellationError() }
                let piece = live.pieces.piece(
                    form, selected, of: pass, from: from ?? pass.lines.first(after: place.reached.token))
                var bytes = piece.bytes
                // The position of the last pass is the answer's only one.
                if piece.next == nil, number < place.next + all.count - 1 {
                    bytes =
                        bytes.getSlice(
                            at: bytes.readerIndex,
                            length: bytes.readableBytes - form.line(of: pass.end).readableBytes) ?? bytes
                }
                if bytes.readableBytes > 0 { try await output.write(bytes) }
                from = piece.next
            } while from != nil
        }
        try await output.finish()
    }

    /// The place where the client continues in the live passes; nil if the client has to read from the history.
    private func place(in ring: LiveRing) -> LivePlace? {
        let place = ring.position(of: request.start)
            .flatMap { ring.place(after: $0, of: ring.signature, epoch: nil) }
        guard let place, let filter = form.filter else { return place }
        let isHere = ring.passes.dropFirst(place.next - ring.first).allSatisfy { pass in
            if case .never = live.selected(by: filter, of: pass, for: rateLimitKey) { false } else { true }
        }
        return isHere ? place : nil
    }

    /// For each live pass that follows `place`, the changes that the filter selects, or nil if the request has no filter. The
    /// whole list is nil if there are no such passes, or if the filter is still being applied.
    private func ready(_ place: LivePlace, _ ring: LiveRing) -> [SelectedChanges?]? {
        guard place.next < ring.next else { return nil }
        var all: [SelectedChanges?] = []
        for number in place.next..<ring.next {
            guard let filter = form.filter, let pass = ring[number] else {
                all.append(nil)
                continue
            }
            guard case .known(let selected) = live.selected(by: filter, of: pass, for: rateLimitKey) else {
                return nil
            }
            all.append(selected)
        }
        return all
    }

    // MARK: Changes from the database

    /// - Returns: false if nothing was sent, because the history has no changes after the client's position.
    @concurrent
    private func sendHistory(
        to output: inout Output, _ client: Client, _ channel: any Channel
    ) async throws -> Bool {
        let (_, reader) = try responder.catchUps.reader(request.start, form, for: rateLimitKey) {
            channel.close(promise: nil)
        }
        client.begin { reader.leave() }
        defer { reader.leave() }
        guard let first = try await reader.next() else { throw CancellationError() }
        if let position = request.start.position, first == form.line(of: position) { return false }
        try await output.begin(head(nil, seconds: 1))
        var bytes: ByteBuffer? = first
        while let next = bytes {
            try await output.write(next)
            bytes = try await reader.next()
        }
        try await output.finish()
        return true
    }
}
