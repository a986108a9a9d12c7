import HTTPTypes
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Client addresses")
struct ClientAddressTests {
    @Test("The client is the last forwarded address that is not itself a trusted proxy")
    func forwarded() throws {
        let networks = ["127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"].compactMap {
            TrustedProxies.Network($0)
        }
        try #require(networks.count == 3)
        let proxies = TrustedProxies(networks)
        for wrong in ["", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0.0/-1", "host", "2001:db8::/129"] {
            #expect(TrustedProxies.Network(wrong) == nil, "\(wrong)")
        }
        for (peer, given, client) in [
            ("192.0.2.1", "198.51.100.1", "192.0.2.1"),
            ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
            ("127.0.0.1", "198.51.100.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"),
            ("127.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
            ("10.9.9.9", "[2001:db8::1]:4711", "2001:db8::1"),
            ("10.9.9.9", "2001:db8:1::7", "2001:db8:1::7"),
            ("::ffff:10.9.9.9", "198.51.100.1", "198.51.100.1"),
            ("127.0.0.1", "what, 10.0.0.1", "10.0.0.1"),
            ("127.0.0.1", "", "127.0.0.1"),
            ("127.0.0.1", nil, "127.0.0.1"),
        ] as [(String, String?, String)] {
            // Only X-Forwarded-For counts: proxies pass on other fields as clients write them.
            var fields: HTTPFields = [.init("Forwarded")!: "for=203.0.113.77"]
            if let given { fields[.init("X-Forwarded-For")!] = given }
            let peer = try #require(ClientAddress(peer))
            #expect(proxies.client(behind: peer, fields).description == client)
        }
    }

    @Test(
        "Loopback and a proxy naming no client have no limit; a /64 network has one limit; forged headers are ignored"
    )
    func rateLimitKeys() throws {
        let proxies = TrustedProxies([try #require(TrustedProxies.Network("10.0.0.1"))])
        func rateLimitKey(_ peer: String, _ given: String? = nil) throws -> String? {
            var fields = HTTPFields()
            if let given { fields[.init("X-Forwarded-For")!] = given }
            return proxies.rateLimitKey(behind: try #require(ClientAddress(peer)), fields)?.description
        }
        #expect(try rateLimitKey("127.0.0.1") == nil)
        #expect(try rateLimitKey("::1") == nil)
        #expect(try rateLimitKey("127.0.0.1", "192.0.2.1") == nil)
        #expect(try rateLimitKey("10.0.0.1") == nil)
        #expect(try rateLimitKey("10.0.0.1", "192.0.2.1") == "192.0.2.1")
        #expect(try rateLimitKey("192.0.2.1", "192.0.2.2") == "192.0.2.1")
        #expect(try rateLimitKey("2001:db8::1:2:3:4") == "2001:db8::")
        #expect(try rateLimitKey("10.0.0.1", "2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::")
    }

    @Test("An address that has reached its limit of streams gets 429; other addresses do not")
    func streams() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            settings.perAddress = 2
            settings.trustedProxies = TrustedProxies([try #require(TrustedProxies.Network("127.0.0.1"))])
            try await TestSite.run(of: database, settings) { site in
                func open(_ address: String) async -> (LoopbackSocket, String) {
                    let client = LoopbackSocket()
                    let head = await site.begin(
                        "/changes?after=now", on: client, "X-Forwarded-For: \(address)\r\n")
                    return (client, head)
                }
                let (first, firstHead) = await open("192.0.2.1")
                let (second, secondHead) = await open("192.0.2.1")
                let (third, thirdHead) = await open("192.0.2.1")
                let (other, otherHead) = await open("192.0.2.2")
                defer { for client in [second, third, other] { client.close() } }
                for head in [firstHead, secondHead, otherHead] { #expect(head.hasPrefix("HTTP/1.1 200")) }
                #expect(thirdHead.hasPrefix("HTTP/1.1 429"))
                #expect(thirdHead.lowercased().contains("retry-after: 5"))
                let poll = try await site.get("/changes?after=now&wait=0", ["X-Forwarded-For": "192.0.2.1"])
                #expect(poll.status == 429)
                #expect(poll.text == "Too many streams are open from this address.\n")
                let metrics = try await site.get("/metrics").text
                #expect(metrics.contains("quakes_address_refused_total{kind=\"stream\"} 2\n"))
                first.close()
                try await waitUntil {
                    let path = "/changes?after=now&wait=0"
                    return try await site.get(path, ["X-Forwarded-For": "192.0.2.1"]).status == 200
                }
            }
        }
    }

    @Test("The log names an untrusted proxy once, and says what to do")
    func untrusted() async throws {
        try await TestServer.shared.withDatabase { database in
            for (trusted, lines) in [("10.0.0.1", 1), ("127.0.0.1", 0)] {
                var settings = ServerSettings.patient
                settings.trustedProxies = TrustedProxies([try #require(TrustedProxies.Network(trusted))])
                let log = RecordedLog()
                try await TestSite.run(of: database, settings, logger: log.logger) { site in
                    for _ in 0..<3 {
                        _ = try await site.get("/page/main.js", ["X-Forwarded-For": "192.0.2.1"])
                    }
                }
                let said = log.lines.filter { $0.contains("X-Forwarded-For") }
                #expect(said.count == lines)
                #expect(
                    said.allSatisfy {
                        $0.hasPrefix("notice: 127.0.0.1 names") && $0.contains("--trusted-proxy 127.0.0.1")
                    })
            }
        }
    }

    @Test("The connections of an address are limited; one beyond the limit gets 429 and is closed")
    func connections() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            settings.perAddress = 2
            try await TestSite.run(of: database, settings) { site in
                // 127.0.0.1 would count as a proxy, which has no limit.
                let held = [LoopbackSocket(from: "127.0.0.2"), LoopbackSocket(from: "127.0.0.2")]
                for client in held {
                    let head = await site.begin("/", on: client)
                    #expect(head.hasPrefix("HTTP/1.1 200"))
                }
                let refused = await onThread {
                    let client = LoopbackSocket(from: "127.0.0.2")
                    defer { client.close() }
                    client.connect(to: site.port)
                    return String(decoding: client.readAll(), as: UTF8.self)
                }
                #expect(refused.hasPrefix("HTTP/1.1 429"))
                #expect(refused.hasSuffix("\r\n\r\nToo many connections are open from this address.\n"))
                #expect(try await site.get("/").status == 200)
                for client in held { client.close() }
                try await waitUntil {
                    let client = LoopbackSocket(from: "127.0.0.2")
                    defer { client.close() }
                    return await site.begin("/", on: client).hasPrefix("HTTP/1.1 200")
                }
            }
        }
    }
}
