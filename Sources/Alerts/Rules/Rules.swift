/// Which receivers are told what: the contents of a rules file.
public struct Rules: Sendable, Equatable {
    /// In the order of the file.
    public var rules: [Rule]
    /// By name.
    public var receivers: [String: Receiver]
    /// The zone of the times in messages, where a rule has no other.
    public var zone: Zone

    public init(rules: [Rule], receivers: [String: Receiver], zone: Zone = .utc) {
        (self.rules, self.receivers, self.zone) = (rules, receivers, zone)
    }
}

/// One wish: which earthquakes, and to which receivers.
public struct Rule: Sendable, Equatable {
    public var name: String
    /// Where the distances of the ladder are measured from, and the intensity is estimated.
    public var places: [Place] = []
    public var ladder: [Step] = []
    /// The least estimated intensity (MMI) at one of the places. It counts beside the ladder.
    public var intensity: Double?
    /// In lower case; empty for all.
    public var agencies: Set<String> = []
    public var kinds: Set<Kind> = Set(Kind.allCases)
    /// How old an origin may be when it is told first.
    public var maxAge: Duration = .seconds(6 * 3600)
    /// How many stations must have located an event that is not reviewed.
    public var stations: Int?
    public var quiet: QuietHours?
    /// Names.
    public var receivers: [String] = []

    public init(name: String) {
        self.name = name
    }

    /// A rung of a ladder.
    public struct Step: Sendable, Equatable {
        public var magnitude: Double
        /// In km; nil for anywhere.
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

/// Why a message is sent.
public enum Kind: String, Sendable, Codable, CaseIterable {
    /// An earthquake that was not there, or that no guard holds back any longer.
    case new
    /// A revision made a known earthquake reach the rule, or a withdrawn one came back.
    case risen
    /// The magnitude moved by more than 0.4, or the epicentre by more than 0.5° in latitude or longitude, since it was told.
    case corrected
    /// A revision made it smaller or moved it away, so that the rule would not tell it now.
    case noLonger = "no_longer"
    /// It was deleted from the catalogue.
    case withdrawn

    /// As it is written in a rules file.
    public var word: String { self == .noLonger ? "no longer" : rawValue }

    /// Whether it concerns something that was not told before. Everything else sets right what people were told.
    public var isNews: Bool { self == .new || self == .risen }
}

/// Where messages go.
public struct Receiver: Sendable, Equatable {
    public var name: String
    public var address: Address

    public init(name: String, _ address: Address) {
        (self.name, self.address) = (name, address)
    }

    public enum Address: Sendable, Equatable {
        /// A program and its arguments. It reads a message as JSON from standard input.
        case command([String], limit: Duration)
        case webhook(url: Setting, secret: Secret?, body: WebhookBody)
        case ntfy(server: String, topic: Setting, token: Secret?)
        case email(String, via: MailServer)
    }

    public enum WebhookBody: String, Sendable, CaseIterable {
        /// An object with `type`, `timestamp` and `data` (Standard Webhooks).
        case standard
        /// `{"text": "…"}`, which Slack, Mattermost and Matrix's Hookshot take.
        case text
        /// `{"content": "…"}`, which Discord takes.
        case content
    }
}

public struct MailServer: Sendable, Equatable {
    /// `smtp://HOST:PORT` or `smtps://HOST:PORT`.
    public var url: String
    public var from: String
    public var user: String?
    public var password: Secret?
    /// Whether the connection has to be encrypted, by STARTTLS or from the start.
    public var isEncrypted: Bool

    public init(
        url: String, from: String, user: String? = nil, password: Secret? = nil, isEncrypted: Bool = true
    ) {
        (self.url, self.from, self.user, self.password) = (url, from, user, password)
        self.isEncrypted = isEncrypted
    }
}

/// Where a secret is kept. The rules only name the place, so they can be shown and logged.
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
    /// The place of a secret. A plain value is left out: many a webhook's URL is a password.
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
