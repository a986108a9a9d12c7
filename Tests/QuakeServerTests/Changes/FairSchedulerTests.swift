import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import QuakeServer

@Suite("The fair scheduler of an event loop")
struct FairSchedulerTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// member runs, and asks for another turn, again and again
    /// pipe   has bytes                                    they are read
    @Test("A member that always wants another turn does not keep the loop from its sockets")
    func sockets() async throws {
        let pipe = Pipe()
        let arrival = Arrival()
        let channel = try await NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(arrival)
                }
            }
            .takingOwnershipOfDescriptor(input: dup(pipe.fileHandleForReading.fileDescriptor)).get()
        let left = try await loop.flatSubmit { [loop] in
            let end = loop.makePromise(of: Int.self)
            let turns = NIOLoopBoundBox<FairScheduler<Int, Int>?>(nil, eventLoop: loop)
            turns.value = FairScheduler(loop) { left in
                if arrival.hasCome.load(ordering: .relaxed) || left == 0 {
                    turns.value = nil
                    return end.succeed(left)
                }
                turns.value?.append(left - 1, of: 0)
            }
            turns.value?.append(2_000_000, of: 0)
            pipe.fileHandleForWriting.write(Data([1]))
            return end.futureResult
        }.get()
        #expect(left > 0)
        try await channel.close()
    }

    @Test(
        "Groups take turns, and so do the members of a group, so a large group delays others no more than a small one"
    )
    func order() async throws {
        let order = try await loop.flatSubmit { [loop] in
            let end = loop.makePromise(of: [String].self)
            let order = NIOLoopBoundBox<[String]>([], eventLoop: loop)
            let turns = FairScheduler<Character, String>(loop) { name in
                order.value.append(name)
                if order.value.count == 7 { end.succeed(order.value) }
            }
            for name in ["a1", "a2", "a3", "a4", "b1", "b2", "c1"] { turns.append(name, of: name.first!) }
            return end.futureResult
        }.get()
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
    }
}

/// Records that bytes have arrived.
private final class Arrival: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    let hasCome = Atomic(false)

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasCome.store(true, ordering: .relaxed)
    }
}
