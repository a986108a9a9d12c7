import HTTPTypes
import NIOCore
import QuakeStore

// One answer to a client that asks for the changes again and again: those from its position up to the newest one, as soon as
// there is one. Its last line is the position to go on from, which is the client's own if there was nothing in time.
//
// All who ask from the same position get the same bytes, so that a cache in front asks once for all of them. What it then
// holds stays true: whoever takes it later goes on from its end.
extension ChangesDelivery {
    /// How long a cache may give changes to others, in seconds. Who comes later gets a longer stretch at once.
    private static let keptFor = 60

    /// What there is.
    private enum Found {
        /// Live passes, from this number on.
        case passes(Range<Int>, [SelectedChanges?], after: Position, upTo: Position)
        /// What is read from the database, and its first bytes.
        case history(Spool.Reader, ByteBuffer)
        /// Nothing but this position.
        case nothing(Position)
    }

    @concurrent
    func answerPoll(
        within time: Duration, _ output: inout Output, _ client: Client, _ channel: any Channel
    ) async throws {
        if isHead { return try await output.send(head(nil, seconds: 0)) }
        switch try await found(within: time, client, channel) {
        case .nothing(let position):
            try await output.send(head(position, seconds: 1), form.line(of: position))
        case .passes(let numbers, let selected, let start, let end):
            try await output.begin(head(end, seconds: Self.keptFor))
            try await write(numbers, selected, after: start, to: &output)
        case .history(let reader, let first):
            defer { reader.leave() }
            client.begin { reader.leave() }
            defer { client.end() }
            try await output.begin(head(nil, seconds: 1))
            var bytes: ByteBuffer? = first
            while let next = bytes {
                try await output.write(next)
                bytes = try await reader.next()
            }
            try await output.finish()
        }
    }

    private func head(_ position: Position?, seconds: Int) -> HTTPResponse {
        HTTPResponse(upTo: position, seconds: seconds, settings)
    }

    /// Writes live passes. A client that is so slow that they are given up is dropped, and asks again.
    @concurrent
    private func write(
        _ numbers: Range<Int>, _ selected: [SelectedChanges?], after start: Position,
        to output: inout Output
    ) async throws {
        for (number, selected) in zip(numbers, selected) {
            var from: Int?
            repeat {
                guard let pass = live.ring[number] else { throw CancellationError() }
                let piece = live.piece(
                    form, selected, of: pass, from: from ?? pass.lines.first(after: start.token))
                try await output.write(piece.bytes)
                from = piece.next
            } while from != nil
        }
        try await output.finish()
    }

    // MARK: Waiting

    /// Waits until there is something, or the time is up.
    private func found(within time: Duration, _ client: Client, _ channel: any Channel) async throws -> Found
    {
        let waiter = LiveWaiter()
        let end = channel.eventLoop.scheduleTask(in: TimeAmount(time)) { waiter.end() }
        defer {
            end.cancel()
            client.end()
        }
        while true {
            client.begin { waiter.end() }
            try Task.checkCancellation()
            guard !client.isGone else { throw CancellationError() }
            let ring = live.ring
            if case .now = request.start, let position = ring.position { return .nothing(position) }
            guard let place = place(in: ring) else {
                if let found = try await history(client, channel) { return found }
                await live.wait(waiter, nil) { place(in: $0) != nil }
                // Its own position is the newest one, though it is not known here yet.
                if let position = request.start.position, waiter.isOver { return .nothing(position) }
                continue
            }
            if let found = ready(place, ring) { return found }
            if waiter.isOver || ring.isEnding { return .nothing(place.reached) }
            await live.wait(waiter, form.filter) { now in
                now.epoch != ring.epoch || now.next != ring.next || ready(place, now) != nil
            }
        }
    }

    private func place(in ring: LiveRing) -> LivePlace? {
        let position: Position? =
            switch request.start {
            case .position(let position, _): position
            case .token(let token):
                ring.position?.token == token
                    ? ring.position : ring.passes.first { $0.start.token == token }?.start
            case .now, .snapshot: nil
            }
        return position.flatMap { ring.place(after: $0, of: ring.signature, epoch: nil) }
    }

    /// What the live passes have; nil if that is nothing, or the filter is still being applied.
    private func ready(_ place: LivePlace, _ ring: LiveRing) -> Found? {
        guard place.next < ring.next else { return nil }
        var all: [SelectedChanges?] = []
        for number in place.next..<ring.next {
            guard let filter = form.filter, let pass = ring[number] else {
                all.append(nil)
                continue
            }
            guard case .known(let selected) = live.selected(by: filter, of: pass) else { return nil }
            all.append(selected)
        }
        return ring.position.map { .passes(place.next..<ring.next, all, after: place.reached, upTo: $0) }
    }

    /// What the database has; nil if that is nothing new.
    private func history(_ client: Client, _ channel: any Channel) async throws -> Found? {
        let (_, reader) = try responder.catchUps.reader(request.start, form, for: customer) {
            channel.close(promise: nil)
        }
        client.begin { reader.leave() }
        do {
            guard let first = try await reader.next() else { throw CancellationError() }
            if let position = request.start.position, first == form.line(of: position) {
                reader.leave()
                return nil
            }
            return .history(reader, first)
        } catch {
            reader.leave()
            throw error
        }
    }
}
