import Alerts
import COpenSSL
import Feed
import Foundation

extension Courier {
    func post(
        _ message: Message, url: String, secret: String?, body form: Receiver.WebhookBody
    ) async throws {
        let body = try Self.webhookBody(message, form)
        let seconds = options.now().milliseconds / 1000
        var fields = ["webhook-id: \(message.id)", "webhook-timestamp: \(seconds)"]
        if let secret {
            let key = try webhookKey(secret)
            fields.append(
                "webhook-signature: \(webhookSignature(id: message.id, timestamp: seconds, body: body, key: key))"
            )
        }
        try await post(body, to: url, fields: fields)
    }

    /// The request body, which has the same bytes in each attempt.
    static func webhookBody(_ message: Message, _ form: Receiver.WebhookBody) throws -> [UInt8] {
        let whole = "\(message.title)\n\(message.text)"
        return switch form {
        case .standard:
            try encoded(StandardBody(type: message.type, timestamp: message.at, data: message))
        case .text: try encoded(["text": plain(whole)])
        // Discord accepts at most 2,000 characters.
        case .content: try encoded(ContentBody(content: String(whole.prefix(2000))))
        }
    }

    /// The text for a service that reads `<!channel>`, `<URL|words>` and `@all` as commands. A feed's text must not contain any.
    private static func plain(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("@", with: "@\u{200B}")
    }

    private struct ContentBody: Encodable {
        let content: String
        /// A message notifies only those who follow its channel, even if a feed's text contains `@everyone`.
        let allowedMentions = ["parse": [String]()]

        enum CodingKeys: String, CodingKey {
            case content
            case allowedMentions = "allowed_mentions"
        }
    }

    private struct StandardBody: Encodable {
        let type: String
        let timestamp: Instant
        let data: Message
    }

    static func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// Decodes the bytes of a secret such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`.
    func webhookKey(_ secret: String) throws(DeliveryFailure) -> [UInt8] {
        let prefix = "whsec_"
        guard secret.hasPrefix(prefix), let key = Data(base64Encoded: String(secret.dropFirst(prefix.count))),
            (24...64).contains(key.count)
        else {
            throw DeliveryFailure("the webhook's secret must be whsec_ and 24 to 64 bytes in base64")
        }
        return Array(key)
    }
}

/// The signature as defined by Standard Webhooks 1.0.0, in the form `v1,BASE64`.
///
/// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
func webhookSignature(id: String, timestamp: Int64, body: [UInt8], key: [UInt8]) -> String {
    let signed = Array("\(id).\(timestamp).".utf8) + body
    var code = [UInt8](repeating: 0, count: 32)
    HMAC(EVP_sha256(), key, Int32(key.count), signed, signed.count, &code, nil)
    return "v1,\(Data(code).base64EncodedString())"
}
