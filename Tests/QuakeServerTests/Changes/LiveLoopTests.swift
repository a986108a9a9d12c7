import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Turns of live clients")
struct LiveLoopTests {
    /// turns  run, one after the other
    /// pipe   has bytes                      they are read
    @Test("While many turns wait, the loop still serves its sockets")
    func sockets() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let pipe = Pipe()
        let last = NIOLoopBoundBox<Last?>.makeEmptyBox(valueType: Last.self, eventLoop: loop)
        let isWaiting = loop.makePromise(of: Bool.self)
        let channel = try await NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Arrival { isWaiting.succeed(last.value?.client != nil) })
                }
            }
            .takingOwnershipOfDescriptor(input: dup(pipe.fileHandleForReading.fileDescriptor)).get()
        try await loop.submit {
            let changes = LiveChanges(.patient, Metrics(), logger: .quiet)
            let turns = LiveLoop(loop, changes, .patient)
            let form = StreamForm(syntax: .events, filter: nil, isChunked: false)
            func client() -> LiveClient {
                LiveClient(form, for: nil, changes, turns, ToldOutage(), .patient)
            }
            let (many, one) = (client(), client())
            for _ in 0..<50_000 { turns.giveTurn(to: many) }
            turns.giveTurn(to: one)
            last.value = Last(client: one)
            pipe.fileHandleForWriting.write(Data([1]))
        }.get()
        #expect(try await isWaiting.futureResult.get())
        try await channel.close()
    }

    @Test(
        "Groups take turns, and so do the members of a group, so a large group delays others no more than a small one"
    )
    func order() {
        var queue = FairQueue<Character, String>()
        for name in ["a1", "a2", "a3", "a4", "b1", "b2", "c1"] { queue.append(name, of: name.first!) }
        let order = (0..<7).map { _ in queue.popFirst() }
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
        #expect(queue.popFirst() == nil)
    }
}

/// The client of the last turn. Until this turn is over, only the queue refers to the client.
private struct Last {
    weak var client: LiveClient?
}

/// Calls a closure when bytes have arrived.
private final class Arrival: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let arrived: @Sendable () -> Void

    init(_ arrived: @escaping @Sendable () -> Void) { self.arrived = arrived }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { arrived() }
}
