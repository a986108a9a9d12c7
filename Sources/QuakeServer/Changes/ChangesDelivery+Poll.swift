import HTTPTypes
import NIOCore
import QuakeStore

// One answer to a client that asks for the changes again and again: those from its position up to the newest one, as soon as
// there is one. Its last line is the position to continue from, which is the client's own if nothing came in time.
//
// All who ask from the same position get the same bytes, so that a cache in front asks once for all of them. The kept
// answer stays true: a later client continues from its end.
extension ChangesDelivery {
    /// How long a cache may give changes to others, in seconds. Who comes later gets a longer stretch at once.
    private static let keptFor = 60

    @concurrent
    func answerPoll(
        within time: Duration, _ output: inout Output, _ client: Client, _ channel: any Channel
    ) async throws {
        if isHead { return try await output.send(head(nil, seconds: 0)) }
        let (news, end) = (Signal(), NIODeadline.now() + TimeAmount(time))
        let timer = channel.eventLoop.scheduleTask(deadline: end) { news.wake() }
        func isOver() -> Bool { NIODeadline.now() >= end }
        defer {
            timer.cancel()
            client.end()
        }
        while true {
            client.begin { news.wake() }
            try Task.checkCancellation()
            guard !client.isGone else { throw CancellationError() }
            let ring = live.ring
            if case .now = request.start, let position = ring.position {
                return try await send(position, to: &output)
            }
            guard let place = place(in: ring) else {
                if try await sendHistory(to: &output, client, channel) { return }
                await live.wait(news, nil) { place(in: $0) != nil }
                // Its own position is the newest one, though it is not known here yet.
                if let position = request.start.position, isOver() {
                    return try await send(position, to: &output)
                }
                continue
            }
            if let selected = ready(place, ring), let newest = ring.position {
                try await output.begin(head(newest, seconds: Self.keptFor))
                return try await write(selected, after: place, to: &output)
            }
            if isOver() || ring.isEnding { return try await send(place.reached, to: &output) }
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

    // MARK: What the live passes have

    /// Writes live passes. A client that is so slow that they are given up is dropped, and asks again.
    ///
    /// - Parameter selected: what the filter selects of each.
    @concurrent
    private func write(
        _ selected: [SelectedChanges?], after place: LivePlace, to output: inout Output
    ) async throws {
        for (number, selected) in zip(place.next..., selected) {
            var from: Int?
            repeat {
                guard let pass = live.ring[number] else { throw CancellationError() }
                let piece = live.pieces.piece(
                    form, selected, of: pass, from: from ?? pass.lines.first(after: place.reached.token))
                try await output.write(piece.bytes)
                from = piece.next
            } while from != nil
        }
        try await output.finish()
    }

    /// Where the client continues in the live passes; nil if it has to read from the history.
    private func place(in ring: LiveRing) -> LivePlace? {
        let place = ring.position(of: request.start)
            .flatMap { ring.place(after: $0, of: ring.signature, epoch: nil) }
        guard let place, let filter = form.filter else { return place }
        let isHere = ring.passes.dropFirst(place.next - ring.first).allSatisfy { pass in
            if case .never = live.selected(by: filter, of: pass, for: rateLimitKey) { false } else { true }
        }
        return isHere ? place : nil
    }

    /// What the filter selects of each live pass; nil if there is none, or the filter is still being applied.
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

    // MARK: What the database has

    /// - Returns: false if that is nothing new, and was not sent.
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
