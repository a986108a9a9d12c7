import NIOCore
import QuakeStore

/// A client that is live: the passes go straight to its socket, below everything that knows HTTP, as chunks of its body.
///
/// It is used on its event loop only.
final class LiveClient: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let form: StreamForm
    private let changes: LiveChanges
    private let loop: LiveLoop
    private let heartbeatTime: TimeAmount
    private let readTime: TimeAmount
    private let heartbeat: ByteBuffer
    private var context: ChannelHandlerContext?
    private var following: (place: LivePlace, end: CheckedContinuation<LiveEnd, Never>)?
    /// What is left of the pass before the next one.
    private var rest = ByteBuffer()
    private var isBehind = false
    private var lastWrite = NIODeadline.now()

    private static let pieceSize = 32 << 10

    init(_ form: StreamForm, _ changes: LiveChanges, _ loop: LiveLoop, _ settings: ServerSettings) {
        (self.form, self.changes, self.loop) = (form, changes, loop)
        (heartbeatTime, readTime) = (TimeAmount(settings.heartbeat), TimeAmount(settings.readTime))
        heartbeat = form.framed(form.format.heartbeat)
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

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, following != nil { pump(changes.ring) }
        context.fireChannelWritabilityChanged()
    }

    /// Follows from here on, until `end` is told why it ended.
    ///
    /// - Parameters:
    ///   - signature: the table's, when the client got what it has.
    ///   - epoch: that in which the position was read from the database; nil if the client names it.
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
        pump(ring)
    }

    /// Sends what the client can take.
    func pump(_ ring: LiveChanges.Ring) {
        guard let context, following != nil else { return }
        var hasWritten = false
        while context.channel.isWritable, takeNext(ring) {
            if let piece = rest.readSlice(length: min(Self.pieceSize, rest.readableBytes)) {
                context.write(wrapOutboundOut(piece), promise: nil)
                hasWritten = true
            }
        }
        if hasWritten {
            lastWrite = .now()
            context.flush()
        }
        guard let following else { return }
        if following.place.next < ring.first { return drop() }
        let isBehind = rest.readableBytes > 0 || following.place.next < ring.next
        if isBehind != self.isBehind {
            self.isBehind = isBehind
            changes.count { $0.behind += isBehind ? 1 : -1 }
        }
        if ring.isEnding, rest.readableBytes == 0 { finish(.ended) }
    }

    /// Takes the next pass if the one before is written.
    ///
    /// - Returns: whether there is something to write.
    private func takeNext(_ ring: LiveChanges.Ring) -> Bool {
        while rest.readableBytes == 0 {
            guard let place = following?.place, place.next >= ring.first, place.next < ring.next,
                !ring.isEnding
            else { return false }
            let pass = ring.passes[place.next - ring.first]
            following?.place.next += 1
            guard pass.end.token > place.reached.token else { continue }
            rest = pass.chunk(form, after: place.reached.token)
            following?.place.reached = pass.end
        }
        return true
    }

    /// Sends the client to the history, unless it has come as far as the passes go on from, and the table is still the same.
    /// If it has got a part of a pass, it is dropped, and comes back.
    func restart(_ ring: LiveChanges.Ring) {
        guard let following else { return }
        guard rest.readableBytes == 0 else { return drop() }
        let (reached, signature) = (following.place.reached, following.place.signature)
        if let place = ring.place(after: reached, of: signature, epoch: nil) {
            self.following?.place = place
            return pump(ring)
        }
        finish(.restart(after: reached))
    }

    /// Shows the client that the stream is alive, and drops it if it has not read for long.
    func beat(_ now: NIODeadline) {
        guard let context, following != nil else { return }
        if !context.channel.isWritable {
            if now - lastWrite > readTime { drop() }
        } else if now - lastWrite >= heartbeatTime, rest.readableBytes == 0 {
            lastWrite = now
            context.writeAndFlush(wrapOutboundOut(heartbeat), promise: nil)
        }
    }

    private func drop() {
        changes.count { $0.dropped += 1 }
        let context = context
        finish(.gone)
        context?.close(promise: nil)
    }

    private func finish(_ end: LiveEnd) {
        guard let following else { return }
        self.following = nil
        rest = ByteBuffer()
        if isBehind { changes.count { $0.behind -= 1 } }
        isBehind = false
        loop.remove(self)
        following.end.resume(returning: end)
    }
}

@available(*, unavailable)
extension LiveClient: Sendable {}

/// Why a client is no longer live.
enum LiveEnd: Sendable {
    /// Its connection is closed.
    case gone
    /// The server is ending.
    case ended
    /// What follows this position has to be read from the history.
    case restart(after: Position)
}
