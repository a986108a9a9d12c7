import Alerts
import Foundation

extension Courier {
    /// Publishes the message as JSON (https://docs.ntfy.sh/publish/#publish-as-json). JSON allows titles in any script, and keeps
    /// the topic, which is often the only secret, out of the URL.
    func publish(_ message: Message, server: String, topic: String, token: String?) async throws {
        let body = try Self.encoded(
            NtfyBody(
                topic: topic, title: message.title, message: Self.shortened(message.text, to: 4000),
                priority: message.priority, click: message.url))
        try await post(body, to: server, fields: token.map { ["Authorization: Bearer \($0)"] } ?? [])
    }

    private struct NtfyBody: Encodable {
        let topic: String
        let title: String
        let message: String
        let priority: Int
        let tags = ["earth_asia"]
        let click: String?
    }

    /// The text, shortened to at most `limit` bytes, because ntfy turns messages of more than 4,096 bytes into attachments.
    static func shortened(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var count = 0
        let kept = text.prefix { character in
            count += character.utf8.count
            return count <= limit - 3
        }
        return "\(kept)…"
    }
}
