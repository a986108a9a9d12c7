import ArgumentParser
import Glibc
import PostgreSQL
import QuakeServer
import QuakeStore

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the catalogue over HTTP.",
        discussion: """
            The live page is at /. /fdsnws/event/1/ is an FDSN event service, for ObsPy and other programs of seismologists. \
            The USGS feeds have the same paths as at the USGS: /earthquakes/feed/v1.0/summary/all_day.geojson and \
            /earthquakes/feed/v1.0/detail/CODE.geojson. They contain only events of the USGS. Other paths contain the name of \
            another agency, or all: summary/gfz/all_day.geojson, detail/all/CODE.geojson. /changes streams \
            the changes as they happen, for browsers and programs. /health is for load balancers, /metrics for Prometheus.

            The server only reads the database. It speaks HTTP without encryption; put a proxy in front of it for HTTPS.

            The command runs until it is stopped. While the database is unavailable, the server answers 503. SIGTERM ends the \
            command with exit code 0, after --drain-time and the unfinished responses. If systemd passes a socket to the \
            command, the server uses that socket and ignores --listen.
            """)

    @Option(
        help: ArgumentHelp(
            "The address to listen on. Port 0 takes a free port. Without a host, the server listens on all addresses.",
            valueName: "host:port"
        ),
        transform: address)
    var listen = ListeningAddress.port(host: "127.0.0.1", 8080)

    @Option(
        help: ArgumentHelp(
            "The public base URL of the server, such as https://example.org/quakes. (default: the host of each request)",
            valueName: "url"),
        transform: baseURL)
    var baseURL: String?

    @Option(
        help: ArgumentHelp("The number of database connections that answer requests.", valueName: "count"))
    var sessions = 4

    @Option(help: ArgumentHelp("How many connections clients may hold at once.", valueName: "count"))
    var maxConnections = 10_000

    @Option(help: ArgumentHelp("How many clients may follow the changes at once.", valueName: "count"))
    var maxStreams = 8000

    @Option(
        help: ArgumentHelp(
            "How many connections one client address may hold at once; the same limit applies to its streams.",
            valueName: "count"))
    var maxPerAddress = 500

    @Option(
        help: ArgumentHelp(
            """
            A proxy, or a network of proxies such as 10.0.0.0/8, whose X-Forwarded-For header names the client. \
            Can be given several times.
            """,
            valueName: "address"),
        transform: proxy)
    var trustedProxy: [TrustedProxies.Network] = []

    @Option(
        help: ArgumentHelp(
            "How many events a response of the event service may contain.", valueName: "count"))
    var maxEvents = 20_000

    @Option(
        help: ArgumentHelp(
            "A separate address for /metrics, because metrics name sources and readers. (default: --listen)",
            valueName: "host:port"),
        transform: address)
    var metricsListen: ListeningAddress?

    @Flag(
        help: "Hide who made a change: the author and the context in /changes and /history are null.")
    var hideAuthors = false

    @Flag(
        help:
            "Write a line of JSON for each request to standard output. Values of unknown parameters are left out."
    )
    var accessLog = false

    @Option(
        help: ArgumentHelp(
            "How long to accept clients after SIGTERM. Meanwhile, /health answers 503, so that a load balancer sends no more clients.",
            valueName: "duration"))
    var drainTime = DurationArgument(argument: "0s")!

    @Option(
        help: ArgumentHelp(
            "How long unfinished responses may take after --drain-time.", valueName: "duration"))
    var endingTime = DurationArgument(argument: "5s")!

    @Option(
        help: ArgumentHelp(
            "How long a client may stop reading its response before it is disconnected.",
            valueName: "duration"))
    var slowClientTimeout = DurationArgument(argument: "30s")!

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard (1...100).contains(sessions) else { throw ValidationError("--sessions takes 1 to 100") }
        for (name, count) in [
            ("--max-events", maxEvents), ("--max-streams", maxStreams), ("--max-connections", maxConnections),
            ("--max-per-address", maxPerAddress),
        ] where !(1...1_000_000_000).contains(count) {
            throw ValidationError("\(name) takes 1 to 1000000000, not \(count)")
        }
        guard baseURL?.contains(#/^https?:\/\/[^\/]*@/#) != true else {
            throw ValidationError("--base-url takes a URL without a user and a password")
        }
        guard slowClientTimeout.duration >= .seconds(1) else {
            throw ValidationError("--slow-client-timeout takes at least 1s")
        }
    }

    func run() async throws {
        let database = try await database.located()
        // Checks the login and the schema, so that the command fails now and not at the first request.
        do {
            try await database.withConnection(for: .reader) { connection in
                try await CatalogueState.withSnapshot(on: connection, limit: .seconds(10)) { _ in }
            }
        } catch let error as PostgresError where error.isOutage {
            database.logger.warning("\(error); answering 503 until the database is available")
        } catch is CancellationError {
            // The command was stopped before it could serve.
            return
        }
        let address = ListeningAddress.activated ?? listen
        var settings = ServerSettings(version: version)
        settings.baseURL = baseURL
        settings.maxEvents = maxEvents
        settings.sessions = sessions
        settings.connections = maxConnections
        settings.streams = maxStreams
        settings.perAddress = maxPerAddress
        settings.trustedProxies = TrustedProxies(trustedProxy)
        settings.namesAuthors = !hideAuthors
        settings.drainTime = drainTime.duration
        settings.endingTime = endingTime.duration
        settings.readTime = slowClientTimeout.duration
        let accessLog = accessLog ? AccessLog(to: STDOUT_FILENO) : nil
        let server = QuakeServer(database.options, settings, logger: database.logger, accessLog: accessLog)
        try await server.run(on: address, metricsOn: metricsListen) { address, metrics in
            StandardError.say("serving http://\(address)")
            if let metrics { StandardError.say("metrics at http://\(metrics)/metrics") }
        }
    }

    private static func address(_ text: String) throws -> ListeningAddress {
        guard let address = ListeningAddress(text) else {
            throw ValidationError("it takes HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
        }
        return address
    }

    private static func proxy(_ text: String) throws -> TrustedProxies.Network {
        guard let network = TrustedProxies.Network(text) else {
            throw ValidationError("it takes an address or a network, such as 127.0.0.1 or 10.0.0.0/8")
        }
        return network
    }

    private static func baseURL(_ text: String) throws -> String {
        guard let match = text.wholeMatch(of: #/(https?:\/\/[^\s?#"<>\\]+?)\/*/#) else {
            throw ValidationError("it takes an http or https URL without a query")
        }
        return String(match.1)
    }
}
