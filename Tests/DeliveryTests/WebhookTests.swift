import Alerts
import Curl
import Feed
import Foundation
import TestSupport
import Testing

@testable import Delivery

@Suite("Delivery to webhooks") struct WebhookTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func receiver(_ port: Int, path: String = "SECRET", body: Receiver.WebhookBody = .standard)
        -> Receiver
    {
        Receiver(
            name: "desk",
            .webhook(
                url: .plain("http://127.0.0.1:\(port)/\(path)"), secret: .environment("HOOK"), body: body))
    }

    private func courier(_ change: (inout Courier.Options) -> Void = { _ in }) -> Courier {
        var options = Courier.Options()
        options.environment = ["HOOK": Self.secret]
        options.now = { Instant(milliseconds: 1_614_265_330_123) }
        change(&options)
        return Courier(options: options)
    }

    /// Uses the test vector of the standard's libraries.
    @Test func aSignatureEqualsTheStandardsTestVector() throws {
        let key = try courier().webhookKey(Self.secret)
        let signature = webhookSignature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8),
            key: key)
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func aMessageArrivesSigned() async throws {
        try await PythonReceiver.run("webhook.py", ["200"], environment: ["SECRET": Self.secret]) { python in
            let sent = try message(title: "M 5.0 地震", text: "揺れた\n.\n")
            try await courier().deliver(sent, to: receiver(python.port))
            let request = try await python.next()
            #expect(request["is_signed"] as? Bool == true)
            let headers = try #require(request["headers"] as? [String: String])
            #expect(headers["webhook-id"] == "me:us1:1-new")
            #expect(headers["webhook-timestamp"] == "1614265330")
            #expect(headers["content-type"] == "application/json")
            let body = try #require(request["body"] as? String)
            struct Body: Decodable {
                let type: String
                let timestamp: Instant
                let data: Message
            }
            let read = try JSONDecoder().decode(Body.self, from: Data(body.utf8))
            #expect(read.type == "earthquake.new")
            #expect(read.timestamp == sent.at)
            #expect(read.data == sent)
        }
    }

    @Test func aMessageHasTheSameBytesInEachAttempt() async throws {
        try await PythonReceiver.run("webhook.py", ["500", "200"], environment: ["SECRET": Self.secret]) {
            python in
            let sent = try message()
            #expect(try await failure { try await courier().deliver(sent, to: receiver(python.port)) } != nil)
            let later = courier { $0.now = { Instant(milliseconds: 1_614_265_390_000) } }
            try await later.deliver(sent, to: receiver(python.port))
            let (first, second) = (try await python.next(), try await python.next())
            #expect(first["body"] as? String == second["body"] as? String)
            let headers = [first, second].compactMap { $0["headers"] as? [String: String] }
            #expect(headers[0]["webhook-id"] == headers[1]["webhook-id"])
            #expect(headers[1]["webhook-timestamp"] == "1614265390")
            #expect(headers[0]["webhook-signature"] != headers[1]["webhook-signature"])
            #expect(second["is_signed"] as? Bool == true)
        }
    }

    @Test func chatsGetOnlyTheText() async throws {
        try await PythonReceiver.run("webhook.py", ["200", "200"]) { python in
            for (form, expected) in [
                (Receiver.WebhookBody.text, #"{"text":"M 5.0 earthquake\nIt shook."}"#),
                (
                    .content,
                    #"{"allowed_mentions":{"parse":[]},"content":"M 5.0 earthquake\nIt shook."}"#
                ),
            ] {
                try await courier().deliver(message(), to: receiver(python.port, body: form))
                let body = try #require(try await python.next()["body"] as? String)
                #expect(body == expected)
            }
        }
    }

    @Test func aFeedsTextContainsNoCommandsForAChat() throws {
        let hostile = try message(text: "@all <!channel> <https://example.org|click> a & b")
        let body = String(decoding: try Courier.webhookBody(hostile, .text), as: UTF8.self)
        #expect(
            body.contains(
                "@\u{200B}all &lt;!channel&gt; &lt;https://example.org|click&gt; a &amp; b"), "\(body)")
    }

    @Test(arguments: [
        ("500", DeliveryFailure("127.0.0.1: HTTP status 500")),
        ("404", DeliveryFailure("127.0.0.1: HTTP status 404")),
        (
            "410",
            DeliveryFailure(
                "127.0.0.1: HTTP status 410: it accepts no more messages", isFinal: true, isGone: true)
        ),
        ("429 Retry-After: 120", DeliveryFailure("127.0.0.1: HTTP status 429", retryAfter: .seconds(120))),
        (
            "503 Retry-After: 999999999999",
            DeliveryFailure("127.0.0.1: HTTP status 503", retryAfter: .seconds(86_400))
        ),
        ("503 Retry-After: soon", DeliveryFailure("127.0.0.1: HTTP status 503")),
        (
            "307 Location: /other",
            DeliveryFailure(
                "127.0.0.1: HTTP status 307: redirects are not followed; use the URL to which it redirects"
            )
        ),
        (
            "301 Location: http://169.254.169.254/",
            DeliveryFailure(
                "127.0.0.1: HTTP status 301: redirects are not followed; use the URL to which it redirects"
            )
        ),
        ("die", DeliveryFailure("127.0.0.1: the connection ended before the answer")),
        ("cut", DeliveryFailure("127.0.0.1: the connection ended before the answer")),
        ("reset", DeliveryFailure("127.0.0.1: the connection ended before the answer")),
        ("hang", DeliveryFailure("127.0.0.1: no answer within 1 seconds")),
    ])
    func aFailureIsDescribedWithoutSecrets(answer: String, expected: DeliveryFailure) async throws {
        try await PythonReceiver.run("webhook.py", [answer]) { python in
            let courier = courier { $0.webhookTimeout = answer == "hang" ? .seconds(1) : .seconds(60) }
            let failure = try await failure {
                try await courier.deliver(message(), to: receiver(python.port))
            }
            #expect(failure == expected)
        }
    }

    @Test func aRetryAfterDateInThePastMeansNoWait() async throws {
        try await PythonReceiver.run("webhook.py", ["503 Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"]) {
            python in
            let failure = try await failure {
                try await courier().deliver(message(), to: receiver(python.port))
            }
            #expect(failure?.retryAfter == .zero)
        }
    }

    /// The response head says that the message was accepted. The body does not matter.
    @Test func anEndlessResponseBodyIsNotRead() async throws {
        try await PythonReceiver.run("webhook.py", ["endless"]) { python in
            try await courier { $0.webhookTimeout = .seconds(60) }.deliver(
                message(), to: receiver(python.port))
        }
    }

    @Test func cancellingEndsAnAttemptAtOnce() async throws {
        try await PythonReceiver.run("webhook.py", ["hang"]) { python in
            let courier = courier { $0.webhookTimeout = .seconds(3600) }
            let receiver = receiver(python.port)
            let task = Task { try await courier.deliver(message(), to: receiver) }
            _ = try await python.next()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func aMissingServerIsReported() async throws {
        let port = try await PythonReceiver.run("webhook.py", []) { $0.port }
        let failure = try await failure { try await courier().deliver(message(), to: receiver(port)) }
        #expect(failure == DeliveryFailure("127.0.0.1: no connection"))
    }

    @Test func aCertificateHasToBeTrusted() async throws {
        let certificate = try TestCertificate.shared.get().path
        let environment = ["CERTIFICATE": certificate]
        try await PythonReceiver.run("webhook.py", ["200"], environment: environment) { python in
            func receiver(_ host: String) -> Receiver {
                Receiver(
                    name: "desk",
                    .webhook(url: .plain("https://\(host):\(python.port)/"), secret: nil, body: .standard))
            }
            let failures = [
                try await failure { try await courier().deliver(message(), to: receiver("localhost")) },
                try await failure {
                    try await courier { $0.authorities = certificate }.deliver(
                        message(), to: receiver("127.0.0.1"))
                },
            ]
            #expect(
                failures[0]?.reason
                    == "localhost: its TLS certificate is not trusted; to trust your own authority, use --ca-file"
            )
            #expect(failures[1]?.reason == "127.0.0.1: its TLS certificate is for another host")
            try await courier { $0.authorities = certificate }.deliver(message(), to: receiver("localhost"))
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1"])
    func aPrivateAddressIsRefusedIfOnlyPublicOnesAreAllowed(host: String) async throws {
        try await PythonReceiver.run("webhook.py", ["200", "200"]) { python in
            let receiver = Receiver(
                name: "x",
                .webhook(url: .plain("http://\(host):\(python.port)/inside"), secret: nil, body: .standard))
            let refused = try await failure {
                try await courier { $0.publicWebhooksOnly = true }.deliver(message(), to: receiver)
            }
            #expect(
                refused?.reason.hasSuffix("its address is not public, and --public-webhooks-only is set")
                    == true, "\(refused as Any)")
            // No request has arrived before this one.
            try await courier().deliver(message(), to: self.receiver(python.port, path: "after"))
            #expect(try await python.next()["path"] as? String == "/after")
        }
    }

    @Test(arguments: [
        "file:///etc/passwd", "gopher://127.0.0.1/", "http://", "http:///127.0.0.1/SECRET",
        "http://me:SECRET@127.0.0.1/", "SECRET",
    ])
    func aURLInAnotherFormIsRefused(url: String) async throws {
        let receiver = Receiver(
            name: "x", .webhook(url: .secret(.environment("URL")), secret: nil, body: .standard))
        let failure = try await failure {
            try await courier { $0.environment = ["URL": url] }.deliver(message(), to: receiver)
        }
        #expect(failure?.reason.contains("SECRET") == false)
    }

    @Test(arguments: ["SECRET", "whsec_SECRET", "whsec_", "whsec_c2hvcnQ="])
    func aMalformedSecretIsRefusedAndNotShown(secret: String) async throws {
        let courier = courier { $0.environment = ["HOOK": secret] }
        let failure = try await failure { try await courier.deliver(message(), to: receiver(1)) }
        #expect(failure?.reason == "the webhook's secret must be whsec_ and 24 to 64 bytes in base64")
    }

    @Test func theEnvironmentIsNotPartOfDescriptions() {
        let courier = courier { $0.environment = ["HOOK": "SECRET"] }
        var dumped = ""
        dump(courier, to: &dumped)
        for text in ["\(courier)", String(reflecting: courier), dumped] { #expect(!text.contains("SECRET")) }
    }

    @Test func aMissingSecretIsNamed() async throws {
        let receiver = Receiver(
            name: "x", .webhook(url: .secret(.file("/nonexistent/url")), secret: nil, body: .standard))
        #expect(
            try await failure { try await courier().deliver(message(), to: receiver) }?.reason
                == "no secret in file /nonexistent/url")
        #expect(throws: DeliveryFailure.self) { try courier().checkSecrets(of: receiver) }
        let other = self.receiver(1)
        #expect(throws: DeliveryFailure("no secret in environment variable HOOK")) {
            try courier { $0.environment = ["HOOK": " \n"] }.checkSecrets(of: other)
        }
    }

    @Test(arguments: [
        ("8.8.8.8", true), ("203.0.114.1", true), ("2606:4700::1111", true), ("64:ff9b::808:808", true),
        ("::ffff:8.8.8.8", true), ("127.0.0.1", false), ("10.1.2.3", false), ("172.16.0.1", false),
        ("172.31.255.255", false),
        ("172.32.0.1", true), ("192.168.1.1", false), ("169.254.169.254", false), ("100.64.0.1", false),
        ("0.0.0.0", false),
        ("198.18.0.1", false), ("192.0.2.1", false), ("224.0.0.1", false), ("255.255.255.255", false),
        ("::1", false),
        ("::", false), ("fe80::1", false), ("fd00::1", false), ("ff02::1", false), ("::ffff:10.0.0.1", false),
        ("64:ff9b::a00:1", false), ("2001:db8::1", false), ("2002:7f00:1::", false), ("2001::1", false),
        ("::127.0.0.1", false),
    ])
    func publicAddressesAreRecognised(text: String, expected: Bool) {
        var (four, six) = (sockaddr_in(), sockaddr_in6())
        if inet_pton(AF_INET, text, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            #expect(IPAddress(socketAddress: &four)?.isPublic == expected)
        } else {
            #expect(inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
            six.sin6_family = sa_family_t(AF_INET6)
            #expect(IPAddress(socketAddress: &six)?.isPublic == expected)
        }
    }
}

@Suite("Delivery to ntfy") struct NtfyTests {
    @Test func aMessageIsPublishedAsJSON() async throws {
        try await PythonReceiver.run("webhook.py", ["200"]) { python in
            var options = Courier.Options()
            options.environment = ["TOKEN": "tk_SECRET", "TOPIC": "quakes"]
            let receiver = Receiver(
                name: "phone",
                .ntfy(
                    server: "http://127.0.0.1:\(python.port)", topic: .secret(.environment("TOPIC")),
                    token: .environment("TOKEN")))
            let long = String(repeating: "地", count: 3000)
            try await Courier(options: options).deliver(
                message(title: "M 5.0 地震", text: long, url: "https://example.org/us1"), to: receiver)
            let request = try await python.next()
            #expect(request["path"] as? String == "/")
            #expect((request["headers"] as? [String: String])?["authorization"] == "Bearer tk_SECRET")
            let text = try #require(request["body"] as? String)
            let body = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            #expect(body["topic"] as? String == "quakes")
            #expect(body["title"] as? String == "M 5.0 地震")
            #expect(body["priority"] as? Int == 4)
            #expect(body["click"] as? String == "https://example.org/us1")
            let shown = try #require(body["message"] as? String)
            #expect(shown.hasSuffix("地…"))
            #expect(shown.utf8.count <= 4000)
        }
    }

    @Test func aRefusedTokenIsNotShown() async throws {
        try await PythonReceiver.run("webhook.py", ["401"]) { python in
            var options = Courier.Options()
            options.environment = ["TOKEN": "tk_SECRET"]
            let receiver = Receiver(
                name: "phone",
                .ntfy(
                    server: "http://127.0.0.1:\(python.port)", topic: .plain("SECRET"),
                    token: .environment("TOKEN")))
            let courier = Courier(options: options)
            let failure = try await failure { try await courier.deliver(message(), to: receiver) }
            #expect(failure == DeliveryFailure("127.0.0.1: HTTP status 401"))
        }
    }
}
