import Alerts
import ArgumentParser
import Delivery
import Feed
import Glibc
import QuakeStore

struct NotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Tell people and programs about earthquakes.",
        discussion: """
            RULES is a YAML file that says which earthquakes to report, and how: by mail, to ntfy, to a webhook, or to a \
            command. docs/notify.md describes it. Before the first start, see which messages the rules would have sent, and \
            send each receiver a test message:

                quakes notify --check rules.yaml
                quakes notify --test rules.yaml
                quakes notify rules.yaml

            Earthquakes that exist at the first start are not reported. The database records the messages to each receiver, so \
            a restart repeats nothing and skips nothing. A message is delivered at least once, and has the same id each time.

            The command runs until it is stopped. It reads the rules again when the file changes, or on SIGHUP. If the \
            new rules are wrong, the last good ones stay in force. SIGTERM ends the command with exit code 0. Only one notifier \
            can run for each database; a second one ends with exit code 75.
            """)

    @Argument(help: "The rules file.")
    var rules: String?

    @Flag(help: "Send the messages that are due now, then exit. The exit code is 69 if a delivery failed.")
    var once = false

    @Flag(
        help:
            "Check the rules, and show which earthquakes of the last 30 days each of them would have reported."
    )
    var check = false

    @Flag(help: "Send a test message to each receiver, then exit. The exit code is 69 if a delivery failed.")
    var test = false

    @Flag(help: "List the messages to all receivers, with their reasons and states. Takes no rules file.")
    var log = false

    @OptionGroup var limit: LimitOption

    @Option(help: "For --log: a table for people, or one JSON object per line.")
    var format = LineFormat.table

    @Option(
        help: ArgumentHelp(
            "A PEM file of certificate authorities to trust in addition to the system's.", valueName: "file"))
    var caFile: String?

    @Flag(
        help:
            "Refuse webhooks and ntfy servers on this machine and in private networks. Rules can still run commands and read secrets."
    )
    var publicWebhooksOnly = false

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard [once, check, test, log].filter(\.self).count <= 1 else {
            throw ValidationError("give only one of --once, --check, --test and --log")
        }
        guard log != (rules != nil) else {
            throw ValidationError(log ? "--log takes no rules file" : "name the rules file")
        }
    }

    func run() async throws {
        guard let rules else { return try await list() }
        let file = RulesFile(rules)
        if test { return try await sendTests(try file.read()) }
        if check { return try await preview(try file.read()) }
        do {
            try await tell(file)
        } catch is CancellationError where !once {
            // The command is normally stopped by a signal.
        }
    }

    private var courier: Courier {
        var options = Courier.Options()
        options.authorities = caFile ?? Environment.current["SSL_CERT_FILE"]
        options.publicWebhooksOnly = publicWebhooksOnly
        options.version = version
        return Courier(options: options)
    }

    // MARK: Sending messages

    private func tell(_ file: RulesFile) async throws {
        // A SIGHUP that arrives before the file is watched would otherwise end the command.
        if !once { signal(SIGHUP, SIG_IGN) }
        let inForce = RulesInForce(try file.read())
        let database = try await database.located()
        if once { try await database.withConnection(for: .notifier) { _ in } }
        let courier = courier
        for problem in courier.problems(of: inForce.current) { database.logger.warning("\(problem)") }
        let service = NotifyService(database.options, rules: inForce, logger: database.logger) {
            try await courier.deliver($0, to: $1)
        }
        try await database.namingGrants(for: .notifier) {
            if once {
                let failures = try await service.runOnce()
                if failures > 0 { throw ExitCode(ExitStatus.unavailable) }
                return
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    try await database.waitUntilFit(for: .notifier)
                    try await service.run()
                }
                group.addTask { [logger = database.logger] in
                    try await file.watch { outcome in
                        switch outcome {
                        case .success(let rules):
                            inForce.replace(by: rules)
                            logger.notice("the rules were read again")
                            for problem in courier.problems(of: rules) { logger.warning("\(problem)") }
                        case .failure(let error):
                            for problem in "\(error)".split(separator: "\n") { logger.error("\(problem)") }
                            logger.error("the last good rules stay in force")
                        }
                    }
                }
                _ = try await group.next()
            }
        }
    }

    // MARK: Checks and tests

    private func sendTests(_ rules: Rules) async throws {
        let courier = courier
        var hasFailed = false
        for (name, receiver) in rules.receivers.sorted(by: { $0.key < $1.key }) {
            do {
                try await courier.deliver(Message(testFor: name, at: .now), to: receiver)
                StandardOutput.print("\(name): delivered")
            } catch let failure as DeliveryFailure {
                hasFailed = true
                StandardOutput.print("\(name): \(failure.reason)")
            }
        }
        if hasFailed { throw ExitCode(ExitStatus.unavailable) }
    }

    private func preview(_ rules: Rules) async throws {
        let problems = courier.problems(of: rules)
        for problem in problems { StandardError.say(problem, level: .warning) }
        let preview = try await database.withConnection(for: .notifier) { connection in
            try await NotifyPreview.read(rules, on: connection)
        }
        StandardOutput.write(preview.text(at: StandardOutput.terminal))
        if !problems.isEmpty { throw ExitCode(ExitStatus.badData) }
    }

    private func list() async throws {
        let limit = limit.rows(isTable: format == .table)
        let listing = Listing(format.form(ToldMessage.columns, \.json), limit: limit)
        let messages = try await database.withConnection(for: .notifier) { connection in
            try await ToldMessage.latest(limit.reading, on: connection)
        }
        messages.forEach(listing.append)
        listing.finish("the latest")
    }
}

extension Courier {
    /// One line for each receiver whose secrets can't be read, with the reason.
    fileprivate func problems(of rules: Rules) -> [String] {
        rules.receivers.sorted { $0.key < $1.key }.compactMap { name, receiver in
            do {
                try checkSecrets(of: receiver)
                return nil
            } catch {
                return "receiver \(name): \(error)"
            }
        }
    }
}
