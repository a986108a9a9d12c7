import NIOCore
import QuakeStore
import Synchronization

/// A live client. Passes are written to its connection as chunks of the response body, without passing through the HTTP handlers.
///
/// The client holds one piece of a pass at a time. When that piece is written, the client waits for its turn to get the next
/// piece. Use this object on its event loop only.
final class LiveClient: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The address whose limits the client counts against; see `Client.rateLimitKey`.
    let rateLimitKey: ClientAddress?
    private let form: StreamForm
    private let changes: LiveChanges
    private let loop: LiveLoop
    private let heartbeatTime: TimeAmount
    private let heartbeat: ByteBuffer
    private let outage: ByteBuffer
    private let told: ToldOutage
    private var context: ChannelHandlerContext?
    private var following: (place: LivePlace, end: CheckedContinuation<LiveEnd, Never>)?
    private var piece: LivePiece?
    private var waitsForTurn = false
    private var isBehind = false
    private var lastWrite = NIODeadline.now()

    init(
        _ form: StreamForm, for rateLimitKey: ClientAddress?, _ changes: LiveChanges, _ loop: LiveLoop,
        _ told: ToldOutage, _ settings: ServerSettings
    ) {
        self.rateLimitKey = rateLimitKey
        (self.form, self.changes, self.loop, self.told) = (form, changes, loop, told)
        heartbeatTime = TimeAmount(settings.heartbeat)
        heartbeat = form.framed(form.heartbeat)
        outage = form.framed(form.outage)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(.gone)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.gone)
        context.fireChannelInactive()
    }

    /// Sends the passes after `position`. When the sending ends, `end` is resumed with the reason.
    ///
    /// - Parameters:
    ///   - signature: the table's signature when the client got its rows.
    ///   - epoch: if `position` is the end of a catch-up, the epoch of the live passes when the catch-up began; otherwise nil.
    func follow(
        after position: Position, of signature: String?, epoch: Int?,
        _ end: CheckedContinuation<LiveEnd, Never>
    ) {
        let ring = changes.ring
        guard context?.channel.isActive == true else { return end.resume(returning: .gone) }
        guard let place = ring.place(after: position, of: signature, epoch: epoch) else {
            return end.resume(returning: .restart(after: position))
        }
        following = (place, end)
        lastWrite = .now()
        loop.insert(self)
        goOn(ring)
        if let outage = changes.outage { tell(of: outage) }
    }

    func hasFilter(of filters: Set<ChangeFilter>) -> Bool { form.filter.map(filters.contains) ?? false }

    /// Requests a turn to send the next piece. Drops the client if it is so slow that its next pass is no longer kept.
    func goOn(_ ring: LiveRing) {
        guard let following else { return }
        if following.place.next < ring.first { return drop() }
        guard piece == nil, !waitsForTurn else { return }
        waitsForTurn = true
        loop.giveTurn(to: self)
    }

    func takeTurn(_ ring: LiveRing) {
        waitsForTurn = false
        if let context, piece == nil, let next = takeNext(ring) {
            piece = next
            lastWrite = .now()
            let written = context.eventLoop.makePromise(of: Void.self)
            written.futureResult.assumeIsolated().whenComplete { _ in
                self.piece = nil
                self.goOn(self.changes.ring)
            }
            changes.metrics.count { $0.bytes += next.bytes.readableBytes }
            context.writeAndFlush(wrapOutboundOut(next.bytes), promise: written)
        }
        guard let following else { return }
        if following.place.next < ring.first { return drop() }
        let isBehind = piece != nil || following.place.next < ring.next
        if isBehind != self.isBehind {
            self.isBehind = isBehind
            changes.metrics.count { $0.liveClientsBehind += isBehind ? 1 : -1 }
        }
        if ring.isEnding, piece == nil, following.place.line == nil { finish(.ended) }
    }

    /// The next piece; nil if there is nothing to send at the moment.
    private func takeNext(_ ring: LiveRing) -> LivePiece? {
        while let place = following?.place, place.next >= ring.first, place.next < ring.next,
            !ring.isEnding || place.line != nil
        {
            let pass = ring.passes[place.next - ring.first]
            guard pass.end.token > place.reached.token else {
                following?.place.next += 1
                continue
            }
            var selected: SelectedChanges?
            if let filter = form.filter {
                switch changes.selected(by: filter, of: pass, for: rateLimitKey) {
                case .known(let known): selected = known
                case .soon: return nil
                case .never:
                    finish(.restart(after: place.reached))
                    return nil
                }
            }
            let line = place.line ?? pass.lines.first(after: place.reached.token)
            let piece = changes.pieces.piece(form, selected, of: pass, from: line)
            following?.place.line = piece.next
            if piece.next == nil {
                following?.place.next += 1
                following?.place.reached = pass.end
            }
            return piece
        }
        return nil
    }

    /// Handles a gap between the last pass and the next one. If the client has already reached the position after the gap, and
    /// the table is still the same, the client continues there. Otherwise the client has to read the missing changes from the
    /// history. A client that got only a part of a pass is dropped, and can reconnect.
    func restart(_ ring: LiveRing) {
        guard let following else { return }
        guard following.place.line == nil else { return drop() }
        let (reached, signature) = (following.place.reached, following.place.signature)
        if let place = ring.place(after: reached, of: signature, epoch: nil) {
            self.following?.place = place
            return goOn(ring)
        }
        finish(.restart(after: reached))
    }

    /// Sends a heartbeat if nothing was written for the heartbeat time.
    func beat(_ now: NIODeadline) {
        if now - lastWrite >= heartbeatTime, isBetweenPasses { write(heartbeat, now) }
    }

    /// Sends the client the message that the database is unreachable. A client in the middle of a pass gets no message, because
    /// it still receives data. Such a client can check the server's health itself.
    func tell(of outage: Int) {
        if isBetweenPasses, told.take(outage) { write(self.outage, .now()) }
    }

    private var isBetweenPasses: Bool { following.map { $0.place.line == nil } ?? false && piece == nil }

    private func write(_ bytes: ByteBuffer, _ now: NIODeadline) {
        guard let context else { return }
        lastWrite = now
        changes.metrics.count { $0.bytes += bytes.readableBytes }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    func drop() {
        guard following != nil else { return }
        changes.metrics.count { $0.slowClients += 1 }
        let context = context
        finish(.gone)
        context?.close(promise: nil)
    }

    private func finish(_ end: LiveEnd) {
        guard let following else { return }
        self.following = nil
        if isBehind { changes.metrics.count { $0.liveClientsBehind -= 1 } }
        isBehind = false
        loop.remove(self)
        following.end.resume(returning: end)
    }
}

/// The latest outage of the database that a client was told of.
final class ToldOutage: Sendable {
    private let number = Atomic(0)

    /// Returns true at the first call for an outage, so that the client is told of each outage once.
    func take(_ outage: Int) -> Bool { number.exchange(outage, ordering: .relaxed) != outage }
}

enum LiveEnd: Sendable {
    /// The client's connection is closed.
    case gone
    case ended
    /// The changes after this position have to be read from the history.
    case restart(after: Position)
}
