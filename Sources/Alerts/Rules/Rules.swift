import Foundation

/// The contents of a rules file: which receivers get messages about which earthquakes.
public struct Rules: Sendable, Equatable {
    /// The rules in the order of the file.
    public var rules: [Rule]
    /// The receivers by name.
    public var receivers: [String: Receiver]
    /// The time zone of the times in messages, and of quiet hours that do not name another zone.
    public var zone: TimeZone

    public init(rules: [Rule], receivers: [String: Receiver], zone: TimeZone = .gmt) {
        (self.rules, self.receivers, self.zone) = (rules, receivers, zone)
    }
}

/// A rule selects earthquakes, and names the receivers of the messages about them.
public struct Rule: Sendable, Equatable {
    public var name: String
    /// The ladder's distances are measured from these places, and the intensity is estimated for them.
    public var places: [Place] = []
    /// An earthquake matches the rule if it matches one of these steps.
    public var ladder: [Step] = []
    /// The smallest estimated intensity (MMI) at one of the places. An earthquake that reaches this intensity matches the rule,
    /// even if it matches no step of the ladder.
    public var intensity: Double?
    /// The networks' names in lower case, with all networks of each agency; empty for all networks.
    public var networks: Set<String> = []
    public var kinds: Set<Kind> = Set(Kind.allCases)
    /// The maximum age of an earthquake for the first message about it.
    public var maxAge: Duration = .seconds(6 * 3600)
    /// The minimum number of stations for an event that no person has reviewed; nil for no minimum.
    public var stations: Int?
    public var quiet: QuietHours?
    /// The receivers' names.
    public var receivers: [String] = []

    public init(name: String) {
        self.name = name
    }

    /// One step of the ladder: a minimum magnitude, and the maximum distance from one of the places.
    public struct Step: Sendable, Equatable {
        public var magnitude: Double
        /// The distance in km; nil for any distance.
        public var within: Double?

        public init(_ magnitude: Double, within: Double? = nil) {
            (self.magnitude, self.within) = (magnitude, within)
        }
    }

    public struct Place: Sendable, Equatable {
        public var name: String
        public var point: Point

        public init(_ name: String, _ point: Point) {
            (self.name, self.point) = (name, point)
        }
    }
}

/// What a message reports about an earthquake.
public enum Kind: String, Sendable, Codable, CaseIterable {
    /// The earthquake is new in the catalogue, or it now meets the rule's conditions on age and stations.
    case new
    /// A revision made a known earthquake match the rule, or a withdrawn earthquake came back.
    case risen
    /// The magnitude changed by more than 0.4, or the epicentre moved by more than 0.5° in latitude or longitude, since the last
    /// message.
    case corrected
    /// A revision made the earthquake smaller, moved it away or marked it as an exercise, so it no longer matches the rule.
    case noLonger = "no_longer"
    /// The earthquake was deleted from the catalogue.
    case withdrawn

    /// The word for the kind in a rules file.
    public var word: String { self == .noLonger ? "no longer" : rawValue }

    /// Whether the message is news. It is news if the receiver has got no message about the earthquake, or if the last message
    /// said that the earthquake no longer matches or was withdrawn. Messages of the other kinds correct an earlier message.
    public var isNews: Bool { self == .new || self == .risen }
}

/// A destination of messages.
public struct Receiver: Sendable, Equatable {
    public var name: String
    public var address: Address

    public init(name: String, _ address: Address) {
        (self.name, self.address) = (name, address)
    }

    public enum Address: Sendable, Equatable {
        /// A program and its arguments. The program reads the message as JSON from standard input.
        case command([String], limit: Duration)
        case webhook(url: Setting, secret: Secret?, body: WebhookBody)
        case ntfy(server: String, topic: Setting, token: Secret?)
        case email(String, via: MailServer)
    }

    public enum WebhookBody: String, Sendable, CaseIterable {
        /// An object with `type`, `timestamp` and `data` (Standard Webhooks).
        case standard
        /// `{"text": "…"}`, which Slack, Mattermost and Matrix's Hookshot accept.
        case text
        /// `{"content": "…"}`, which Discord accepts.
        case content
    }
}

public struct MailServer: Sendable, Equatable {
    /// `smtp://HOST:PORT` or `smtps://HOST:PORT`.
    public var url: String
    public var from: String
    public var user: String?
    public var password: Secret?
    /// Whether the connection must be encrypted, by STARTTLS or from the start.
    public var isEncrypted: Bool

    public init(
        url: String, from: String, user: String? = nil, password: Secret? = nil, isEncrypted: Bool = true
    ) {
        (self.url, self.from, self.user, self.password) = (url, from, user, password)
        self.isEncrypted = isEncrypted
    }
}

/// Where a secret is kept. Rules contain only this location, so they can be shown and logged.
public enum Secret: Sendable, Hashable {
    case file(String)
    case environment(String)
}

/// A value that may be secret, such as the URL of a webhook.
public enum Setting: Sendable, Hashable {
    case plain(String)
    case secret(Secret)
}

extension Setting: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The place where the secret is kept. A plain value is not shown, because the URL of a webhook often works like a password.
    public var description: String {
        switch self {
        case .plain: "(given)"
        case .secret(.file(let path)): "file \(path)"
        case .secret(.environment(let name)): "environment variable \(name)"
        }
    }

    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
