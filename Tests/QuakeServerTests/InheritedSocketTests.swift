import Glibc
import QuakeServer
import TestSupport
import Testing

/// A socket that another process, such as systemd, has opened.
@Suite("An inherited socket")
struct InheritedSocketTests {
    @Test("The server lengthens the socket's queue to 1,024 waiting clients, and knows the socket's address")
    func queue() async throws {
        try await TestServer.shared.withDatabase { database in
            let socket = try LoopbackSocket.bound(queue: 7)
            defer { socket.close() }
            #expect(try socket.queueLength == 7)
            // The server closes the descriptor that it is given.
            let inherited = ListeningAddress.descriptor(dup(socket.descriptor))
            try await TestSite.run(of: database, on: inherited) { site in
                #expect(site.address == "127.0.0.1:\(socket.port)")
                #expect(try socket.queueLength == 1024)
                try await waitUntil { try await site.get("/health").status == 200 }
            }
        }
    }
}

extension LoopbackSocket {
    /// How many clients can wait to be accepted: `tcpi_sacked` of a listening socket (net/ipv4/tcp.c, tcp_get_info).
    fileprivate var queueLength: UInt32 {
        get throws {
            var info = [UInt32](repeating: 0, count: 26)
            var size = socklen_t(info.count * 4)
            let result = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size)
            #expect(result == 0)
            return info[7]
        }
    }
}
