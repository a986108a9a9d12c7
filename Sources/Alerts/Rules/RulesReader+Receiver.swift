import Feed
import Yams

extension RulesReader {
    private static let types = ["command", "webhook", "ntfy", "email"]

    mutating func readReceiver(_ entry: YAMLReader.Entry, hasMail: Bool) -> Receiver? {
        let isName =
            entry.key.count <= 40
            && entry.key.utf8.allSatisfy { $0.isAlphanumeric || "_-".utf8.contains($0) }
        if !isName {
            yaml.note(entry.mark, "a receiver's name has up to 40 letters, digits, _ and -")
        }
        let what = "receiver \(quoted(entry.key))"
        let known = Self.types + ["timeout", "secret", "body", "topic", "token"]
        let entries = yaml.entries(entry.value, of: what, known: known)
        let types = entries.filter { Self.types.contains($0.key) }
        guard types.count == 1, let type = types.first else {
            yaml.note(entry.mark, "\(what) needs one of \(Self.types.joined(separator: ", "))")
            return nil
        }
        let options: [String: Set<String>] = [
            "command": ["timeout"], "webhook": ["secret", "body"], "ntfy": ["topic", "token"], "email": [],
        ]
        for entry in entries
        where entry.key != type.key && !options[type.key, default: []].contains(entry.key) {
            yaml.note(entry.mark, "\(quoted(entry.key)) is not an option of \(type.key)")
        }
        func value(_ key: String) -> Node? { entries.first { $0.key == key }?.value }
        let address: Receiver.Address?
        switch type.key {
        case "command": address = readCommand(type.value, timeout: value("timeout"))
        case "webhook": address = readWebhook(type.value, secret: value("secret"), body: value("body"))
        case "ntfy": address = readNtfy(type, topic: value("topic"), token: value("token"))
        default: address = readEmail(type.value, hasMail: hasMail)
        }
        return address.map { Receiver(name: entry.key, $0) }
    }

    private mutating func readCommand(_ node: Node, timeout: Node?) -> Receiver.Address? {
        let words = yaml.list(node, "command").compactMap { yaml.text($0, "a word of the command") }
        var limit = Duration.seconds(30)
        if let timeout, let text = yaml.text(timeout, "timeout") {
            if let given = TimeLength(text)?.duration, (.seconds(1)...Duration.seconds(600)).contains(given) {
                limit = given
            } else {
                yaml.note(timeout.mark, "timeout must be a time from 1s to 10m")
            }
        }
        guard let program = words.first else { return nil }
        guard program.hasPrefix("/") else {
            yaml.note(
                node.mark,
                "a command must begin with the full path of a program; for a shell, write [/bin/sh, -c, \"…\"]"
            )
            return nil
        }
        return .command(words, limit: limit)
    }

    private mutating func readWebhook(_ node: Node, secret: Node?, body: Node?) -> Receiver.Address? {
        let url = readSetting(node, "the webhook's URL")
        if case .plain(let text)? = url { checkURL(text, node.mark, schemes: ["https", "http"]) }
        var form = Receiver.WebhookBody.standard
        if let body, let text = yaml.text(body, "body") {
            let known = Receiver.WebhookBody.allCases.map(\.rawValue)
            if let given = Receiver.WebhookBody(rawValue: text) {
                form = given
            } else {
                yaml.note(body.mark, "unknown body \(quoted(text))\(yaml.hint(text, known))")
            }
        }
        let key = secret.flatMap { readSecret($0, "the webhook's secret") }
        return url.map { .webhook(url: $0, secret: key, body: form) }
    }

    private mutating func readNtfy(_ entry: YAMLReader.Entry, topic: Node?, token: Node?) -> Receiver.Address?
    {
        let server = yaml.text(entry.value, "ntfy's server")
        if let server { checkURL(server, entry.value.mark, schemes: ["https", "http"]) }
        guard let topic else {
            yaml.note(entry.mark, "ntfy needs a topic")
            return nil
        }
        let name = readSetting(topic, "the topic")
        if case .plain(let text)? = name,
            text.utf8.count > 64 || !text.utf8.allSatisfy({ $0.isAlphanumeric || "_-".utf8.contains($0) })
        {
            yaml.note(topic.mark, "a topic has up to 64 letters, digits, _ and -")
        }
        let key = token.flatMap { readSecret($0, "the token") }
        guard let server, let name else { return nil }
        return .ntfy(server: server, topic: name, token: key)
    }

    // MARK: Mail

    private mutating func readEmail(_ node: Node, hasMail: Bool) -> Receiver.Address? {
        guard let address = readMailAddress(node, "the address") else { return nil }
        if !hasMail { yaml.note(node.mark, "e-mail needs a mail server; add the section mail") }
        return mail.map { .email(address, via: $0) }
    }

    mutating func readMailServer(_ node: Node) -> MailServer? {
        let entries = yaml.entries(
            node, of: "mail", known: ["server", "from", "user", "password", "encryption"])
        var (server, from, user, password): (String?, String?, String?, Secret?)
        var isEncrypted = true
        for entry in entries {
            switch entry.key {
            case "server":
                server = yaml.text(entry.value, "the mail server")
                if let server { checkURL(server, entry.value.mark, schemes: ["smtp", "smtps"]) }
            case "from": from = readMailAddress(entry.value, "the sender's address")
            case "user": user = yaml.text(entry.value, "the user")
            case "password": password = readSecret(entry.value, "the password")
            default:
                guard let text = yaml.text(entry.value, "encryption") else { continue }
                if text != "required", text != "none" {
                    yaml.note(entry.value.mark, "encryption must be required or none, not \(quoted(text))")
                }
                isEncrypted = text != "none"
            }
        }
        for key in ["server", "from"] where !entries.contains(where: { $0.key == key }) {
            yaml.note(node.mark, "mail needs \"\(key)\"")
        }
        let given = Set(entries.map(\.key))
        if given.contains("user") != given.contains("password") {
            yaml.note(node.mark, "mail needs both a user and a password, or neither")
        }
        if !isEncrypted, given.contains("password") {
            yaml.note(node.mark, "a password needs encryption; without it, others could read the password")
        }
        guard let server, let from else { return nil }
        return MailServer(url: server, from: from, user: user, password: password, isEncrypted: isEncrypted)
    }

    private mutating func readMailAddress(_ node: Node, _ what: String) -> String? {
        guard let text = yaml.text(node, what) else { return nil }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let isAddress =
            parts.count == 2 && text.utf8.count <= 254
            && parts.allSatisfy { part in
                !part.isEmpty && !part.hasPrefix(".") && !part.hasSuffix(".") && !part.contains("..")
                    && part.utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-/=?^_`{|}~.".utf8.contains($0) }
            }
        if isAddress { return text }
        yaml.note(node.mark, "\(what) must be a single address in ASCII, such as me@example.org")
        return nil
    }

    // MARK: Secrets

    /// Reads the place where a secret is kept. The secret itself must not be in the rules file, because people share rules files
    /// and keep them under version control.
    private mutating func readSecret(_ node: Node, _ what: String) -> Secret? {
        guard case .mapping = node else {
            yaml.note(
                node.mark,
                "\(what) must not be in this file; write where it is kept: {file: /etc/quakes/NAME} or {environment: NAME}"
            )
            return nil
        }
        let entries = yaml.entries(node, of: what, known: ["file", "environment"])
        guard entries.count == 1, let entry = entries.first else {
            yaml.note(node.mark, "\(what) needs one of file, environment")
            return nil
        }
        guard let text = yaml.text(entry.value, entry.key) else { return nil }
        if entry.key == "environment" { return .environment(text) }
        if !text.hasPrefix("/") { yaml.note(entry.value.mark, "the file of a secret must be a full path") }
        return .file(text)
    }

    private mutating func readSetting(_ node: Node, _ what: String) -> Setting? {
        if case .mapping = node { return readSecret(node, what).map { .secret($0) } }
        return yaml.text(node, what).map { .plain($0) }
    }

    /// The problems never quote the URL, because it may contain a secret.
    private mutating func checkURL(_ text: String, _ mark: Mark?, schemes: [String]) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isURL =
            parts.count >= 3 && schemes.contains { parts[0].lowercased() == "\($0):" } && parts[1].isEmpty
            && !parts[2].isEmpty && !text.contains { $0.isWhitespace || $0.isNewline }
        if !isURL {
            yaml.note(
                mark,
                "the value must be a URL that begins with \(schemes.map { "\($0)://" }.joined(separator: " or "))"
            )
        } else if parts[2].contains("@") {
            yaml.note(mark, "a URL must not contain a user or a password")
        }
    }
}
