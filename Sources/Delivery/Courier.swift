import Alerts
import Feed
import Foundation

/// Delivers messages. Each call is one attempt.
///
/// If the receiver accepts a message but its response is lost, the message arrives again, with the same id.
public struct Courier: Sendable {
    public struct Options: Sendable {
        /// A PEM file of certificate authorities to trust in addition to the system's.
        public var authorities: String?
        /// Whether webhooks and ntfy servers on this machine and in private networks are refused. The check uses the address of
        /// the connection, not the host name. Rules can still run commands and read secrets.
        public var publicWebhooksOnly = false
        /// The project's version, for the User-Agent.
        public var version: String?
        /// The time limit for connecting to a webhook or to ntfy, including TLS.
        public var connectTimeout = Duration.seconds(15)
        /// The time limit for a webhook or ntfy (Standard Webhooks recommends 15 to 30 s).
        public var webhookTimeout = Duration.seconds(20)
        /// The time limit for each reply of a mail server. RFC 5321, section 4.5.3.2.6, asks for 10 minutes: a client that gives
        /// up earlier often sends a mail twice.
        public var mailTimeout = Duration.seconds(600)
        /// Provides the secrets of the kind `environment`, and `PATH`, `HOME`, `LANG` and `TZ` for commands.
        public var environment = ProcessInfo.processInfo.environment

        /// The current time, for signatures and the date of mails.
        package var now: @Sendable () -> Instant = { .now }
        /// Waits. Throws if the task is cancelled.
        package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

        public init() {}
    }

    public var options: Options

    public init(options: Options = Options()) {
        self.options = options
    }

    /// Delivers a message in one attempt.
    ///
    /// - Throws: `DeliveryFailure`; `CancellationError` if the task is cancelled. Cancelling the task also kills a running
    ///   command.
    public func deliver(_ message: Message, to receiver: Receiver) async throws {
        switch receiver.address {
        case .command(let words, let limit): try await run(words, limit: limit, message)
        case .webhook(let url, let secret, let body):
            try await post(message, url: read(url), secret: secret.map(read), body: body)
        case .ntfy(let server, let topic, let token):
            try await publish(message, server: server, topic: read(topic), token: token.map(read))
        case .email(let address, let server): try await mail(message, to: address, via: server)
        }
    }
}

/// Descriptions and dumps show no values, because the environment contains secrets.
extension Courier.Options: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "Courier.Options" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

// MARK: Secrets

extension Courier {
    /// Checks that a receiver's secrets can be read, for `quakes notify --check`.
    ///
    /// - Throws: `DeliveryFailure`, which names the file or the variable.
    public func checkSecrets(of receiver: Receiver) throws {
        switch receiver.address {
        case .command: return
        case .webhook(let url, let secret, _):
            _ = try read(url)
            if let secret { _ = try webhookKey(read(secret)) }
        case .ntfy(_, let topic, let token):
            _ = try read(topic)
            _ = try token.map(read)
        case .email(_, let server): _ = try server.password.map(read)
        }
    }

    func read(_ setting: Setting) throws(DeliveryFailure) -> String {
        switch setting {
        case .plain(let text): text
        case .secret(let secret): try read(secret)
        }
    }

    /// Reads a secret and trims the white space around it. Each attempt reads the secret again, so people can change it while
    /// `quakes notify` runs.
    func read(_ secret: Secret) throws(DeliveryFailure) -> String {
        let (text, place): (String?, String)
        switch secret {
        case .file(let path):
            let data = FileManager.default.contents(atPath: path)
            if data == nil, access(path, R_OK) != 0, errno == EACCES {
                throw DeliveryFailure("the secret in file \(path) can't be read: Permission denied")
            }
            (text, place) = (data.flatMap { String(validating: $0, as: UTF8.self) }, "file \(path)")
        case .environment(let name):
            (text, place) = (options.environment[name], "environment variable \(name)")
        }
        let trimmed = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard !trimmed.isEmpty else { throw DeliveryFailure("no secret in \(place)") }
        guard !trimmed.contains(where: \.isNewline) else {
            throw DeliveryFailure("the secret in \(place) has more than one line")
        }
        return trimmed
    }
}
