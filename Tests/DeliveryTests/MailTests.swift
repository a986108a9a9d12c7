import Alerts
import Feed
import Foundation
import TestSupport
import Testing

@testable import Delivery

@Suite("Delivery by mail", .needsClients) struct MailTests {
    private func server(
        _ python: PythonReceiver, _ scheme: String = "smtp", isLogin: Bool = false, isEncrypted: Bool = true
    ) -> MailServer {
        MailServer(
            url: "\(scheme)://localhost:\(python.port)", from: "quakes@example.org",
            user: isLogin ? "quakes" : nil,
            password: isLogin ? .environment("PASSWORD") : nil, isEncrypted: isEncrypted)
    }

    private func courier(password: String = "right", _ change: (inout Courier.Options) -> Void = { _ in })
        throws -> Courier
    {
        var options = Courier.Options()
        options.authorities = try TestCertificate.shared.get().path
        options.environment = ["PASSWORD": password]
        options.now = { Instant("2026-11-26T04:50:38Z")! }
        change(&options)
        return Courier(options: options)
    }

    private func run(_ modes: String..., body: (PythonReceiver) async throws -> Void) async throws {
        let environment = ["CERTIFICATE": try TestCertificate.shared.get().path]
        try await PythonReceiver.run(
            "mail.py", modes, environment: environment, python: #require(Clients.python), body)
    }

    private func receiver(_ server: MailServer, _ address: String = "me@example.org") -> Receiver {
        Receiver(name: "me", .email(address, via: server))
    }

    @Test func aMailArrivesEncryptedAndWithALogin() async throws {
        try await run("starttls", "login") { python in
            let text =
                "Earthquake of magnitude 5.2, 浦河沖.\n.\n..\n.hidden\n\n" + String(repeating: "ÅÄÖ ", count: 60)
                + "\nEnds with a blank \nhttps://example.org/?a=b"
            let sent = try message(
                id: "me:smi:ch%2Eethz:2-corrected", thread: "me:smi:ch%2Eethz:1-new",
                title: "Corrected: M 5.2 earthquake 45 km SW of 浦河沖, Ñuñoa and سانتياغو, was M 4.6",
                text: text)
            try await courier().deliver(sent, to: receiver(server(python, isLogin: true)))
            let mail = try await python.next()
            #expect(mail["is_encrypted"] as? Bool == true)
            #expect(mail["login"] as? String == "quakes")
            #expect(mail["from"] as? String == "quakes@example.org")
            #expect(mail["to"] as? [String] == ["me@example.org"])
            #expect((mail["defects"] as? [String])?.isEmpty == true)
            #expect(mail["text"] as? String == text + "\n")
            let headers = try #require(mail["headers"] as? [String: String])
            #expect(headers["subject"] == sent.title)
            #expect(headers["from"] == "Quakes <quakes@example.org>")
            #expect(headers["to"] == "me@example.org")
            #expect(headers["date"] == "Thu, 26 Nov 2026 04:50:38 +0000")
            #expect(headers["message-id"] == "<me/smi/ch%2Eethz/2-corrected@example.org>")
            #expect(headers["references"] == "<me/smi/ch%2Eethz/1-new@example.org>")
            #expect(headers["in-reply-to"] == headers["references"])
            #expect(headers["auto-submitted"] == "auto-generated")
            let raw = try #require((mail["raw"] as? String).flatMap { Data(base64Encoded: $0) })
            #expect(raw.allSatisfy { $0 < 128 })
            let lines = String(decoding: raw, as: UTF8.self).components(separatedBy: "\r\n")
            #expect(lines.allSatisfy { $0.utf8.count <= 78 && !$0.contains("\n") && !$0.contains("\r") })
        }
    }

    @Test func aMailToAnSMTPSURLIsEncryptedFromTheStart() async throws {
        try await run("tls", "login") { python in
            try await courier().deliver(message(), to: receiver(server(python, "smtps", isLogin: true)))
            #expect(try await python.next()["is_encrypted"] as? Bool == true)
        }
    }

    @Test func aMailGoesUnencryptedOnlyIfTheRulesSaySo() async throws {
        try await run { python in
            let refused = try await failure {
                try await courier().deliver(message(), to: receiver(server(python)))
            }
            #expect(refused?.reason == "localhost:\(python.port): it offers no encryption (STARTTLS)")
            try await courier().deliver(message(), to: receiver(server(python, isEncrypted: false)))
            let mail = try await python.next()
            #expect(mail["is_encrypted"] as? Bool == false)
            let headers = try #require(mail["headers"] as? [String: String])
            #expect(headers["references"] == nil)
        }
    }

    @Test func aServerWhoseCertificateIsNotTrustedGetsNoPassword() async throws {
        try await run("starttls", "login") { python in
            let refused = try await failure {
                try await courier { $0.authorities = nil }.deliver(
                    message(), to: receiver(server(python, isLogin: true)))
            }
            #expect(
                refused?.reason
                    == "localhost:\(python.port): its TLS certificate is not trusted; to trust your own authority, use --ca-file"
            )
        }
    }

    @Test func aWrongPasswordIsReportedButNotShown() async throws {
        try await run("starttls", "login") { python in
            let courier = try courier(password: "SECRET")
            let refused = try await failure {
                try await courier.deliver(message(), to: receiver(server(python, isLogin: true)))
            }
            #expect(
                refused == DeliveryFailure("localhost:\(python.port): it refuses the user or the password"))
        }
    }

    /// The server may have lost the connection to its database of passwords for a while.
    @Test func aServerThatDoesNotOfferALoginIsTriedAgain() async throws {
        try await run("starttls", "login", "hide-login") { python in
            let refused = try await failure {
                try await courier().deliver(message(), to: receiver(server(python, isLogin: true)))
            }
            #expect(
                refused
                    == DeliveryFailure("localhost:\(python.port): it refuses the mail with reply 530"))
        }
    }

    @Test func aServerMayGreetLate() async throws {
        try await run("starttls", "late") { python in
            let courier = try courier { $0.connectTimeout = .milliseconds(100) }
            try await courier.deliver(message(), to: receiver(server(python)))
        }
    }

    @Test(arguments: [
        ("refuse-address", 550, true), ("defer-address", 450, false), ("refuse-mail", 554, true),
        ("defer-mail", 451, false), ("refuse-all", 554, false),
    ])
    func aRefusalIsFinalOrTemporary(mode: String, reply: Int, isFinal: Bool) async throws {
        try await run("starttls", mode) { python in
            let refused = try await failure {
                try await courier().deliver(message(), to: receiver(server(python)))
            }
            #expect(
                refused
                    == DeliveryFailure(
                        "localhost:\(python.port): it refuses the mail with reply \(reply)", isFinal: isFinal)
            )
        }
    }

    @Test func aServerThatHangsTimesOut() async throws {
        #expect(Courier.Options().mailTimeout == .seconds(600))
        try await run("starttls", "hang") { python in
            let courier = try courier { $0.mailTimeout = .seconds(1) }
            let refused = try await failure {
                try await courier.deliver(message(), to: receiver(server(python)))
            }
            #expect(refused == DeliveryFailure("localhost:\(python.port): no answer within 1 seconds"))
        }
    }

    @Test func aLostConnectionIsReported() async throws {
        try await run("starttls", "die") { python in
            let refused = try await failure {
                try await courier().deliver(message(), to: receiver(server(python)))
            }
            #expect(refused?.isFinal == false)
        }
    }

    @Test func cancellingEndsAMail() async throws {
        try await run("starttls", "hang") { python in
            let (courier, receiver) = (try courier(), receiver(server(python)))
            let task = Task { try await courier.deliver(message(), to: receiver) }
            _ = try await python.next()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}

@Suite("The text of a mail") struct MailTextTests {
    private func lines(_ text: String) -> [String] { MailText.quotedPrintable(text) }

    @Test func aLineNeverBeginsWithADot() {
        #expect(lines(".\n..\n.x\nx.") == ["=2E", "=2E.", "=2Ex", "x."])
        let long = String(repeating: "x", count: 75) + "." + String(repeating: "y", count: 80)
        #expect(lines(long).allSatisfy { !$0.hasPrefix(".") && $0.utf8.count <= 76 })
    }

    @Test(arguments: [
        "", "a", "a b ", " ", "\t", "=", "a=b", "ÅÄÖ", "😀", "line\r\nline\nline\r", "日本\u{2028}語",
    ])
    func textIsTheSameAfterEncodingAndDecoding(text: String) throws {
        try expectDecoded(text)
    }

    @Test func randomTextIsTheSameAfterEncodingAndDecoding() throws {
        var seed =
            ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? .random(in: 0...99_999_999)
        print("randomTextIsTheSameAfterEncodingAndDecoding: SEED=\(seed)")
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<300 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                text +=
                    ["a", ".", " ", "=", "\n", "é", "地", "😀", "\t", "x", "\u{e9}", "?"][Int(seed >> 33) % 12]
            }
            try expectDecoded(text)
        }
    }

    private func expectDecoded(_ text: String) throws {
        let encoded = lines(text)
        #expect(
            encoded.allSatisfy {
                $0.utf8.count <= 76 && !$0.hasPrefix(".") && !$0.hasSuffix(" ") && !$0.hasSuffix("\t")
            })
        #expect(encoded.allSatisfy { $0.utf8.allSatisfy { (32...126).contains($0) } })
        var decoded: [UInt8] = []
        for (index, line) in encoded.enumerated() {
            var bytes = Array(line.utf8)[...]
            while let byte = bytes.popFirst() {
                guard byte == UInt8(ascii: "=") else {
                    decoded.append(byte)
                    continue
                }
                if bytes.isEmpty { break }
                decoded.append(UInt8(String(decoding: bytes.prefix(2), as: UTF8.self), radix: 16)!)
                bytes = bytes.dropFirst(2)
            }
            if !line.hasSuffix("="), index < encoded.count - 1 { decoded.append(10) }
        }
        let expected = text.split(omittingEmptySubsequences: false) { $0.isNewline }.joined(separator: "\n")
        #expect(String(decoding: decoded, as: UTF8.self) == expected)
    }

    @Test(arguments: [
        ("short", "short"), ("M 5.0 earthquake", "M 5.0 earthquake"), ("a\r\nBcc: x", "a  Bcc: x"),
        ("=?utf-8?B?eA==?=", "=?utf-8?B?PT91dGYtOD9CP2VBPT0/PQ==?="), ("地震", "=?utf-8?B?5Zyw6ZyH?="),
    ])
    func aHeaderIsPlainOrEncoded(text: String, expected: String) {
        #expect(MailText.encodedHeader(text, after: 9) == expected)
    }

    @Test func encodedWordsHaveWholeCharactersAndShortLines() throws {
        let text = String(repeating: "地震😀é", count: 40)
        let header = "Subject: " + MailText.encodedHeader(text, after: 9)
        var decoded = ""
        for line in header.dropFirst(9).components(separatedBy: "\r\n ") {
            #expect(line.hasPrefix("=?utf-8?B?") && line.hasSuffix("?=") && line.utf8.count <= 75)
            let data = try #require(Data(base64Encoded: String(line.dropFirst(10).dropLast(2))))
            decoded += try #require(String(validating: data, as: UTF8.self))
        }
        #expect(decoded == text)
        #expect(header.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 })
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 +0000"),
        ("2024-02-29T23:59:59Z", "Thu, 29 Feb 2024 23:59:59 +0000"),
    ])
    func aDateHasTheFormatOfMail(moment: String, expected: String) throws {
        #expect(try #require(Instant(moment)).internetDate(zone: "+0000") == expected)
    }
}
