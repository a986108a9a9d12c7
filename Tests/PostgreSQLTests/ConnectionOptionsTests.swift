import Logging
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("Connection options")
struct ConnectionOptionsTests {
    @Test("The parts of a URL are read, with percent-encoding decoded")
    func url() throws {
        let options = try ConnectionOptions(
            "postgresql://sam:p%40ss%2Fword@db.example:5433/qu%20akes?sslmode=require")
        #expect(options["user"] == "sam")
        #expect(options["password"] == "p@ss/word")
        #expect(options["host"] == "db.example")
        #expect(options["port"] == "5433")
        #expect(options["dbname"] == "qu akes")
        #expect(options["sslmode"] == "require")
    }

    @Test("The parts of a keyword string are read, with their quotes removed")
    func keywordString() throws {
        let options = try ConnectionOptions("host=/run/pg user=sam password='it\\'s' dbname=quakes")
        #expect(options["host"] == "/run/pg")
        #expect(options["dbname"] == "quakes")
    }

    @Test("An @ in the parameters, or percent-encoded in the name, is accepted")
    func harmlessAt() throws {
        #expect(try ConnectionOptions("postgresql://db/quakes?user=sam@tenant")["user"] == "sam@tenant")
        #expect(try ConnectionOptions("postgresql://sam%40tenant@db/a%40b")["dbname"] == "a@b")
    }

    @Test("The description names the server, and never the password")
    func description() throws {
        let options = try ConnectionOptions("postgresql://sam:sesame@db:5433/quakes?sslpassword=sesame")
        #expect("\(options)" == "user=sam host=db port=5433 dbname=quakes")
        #expect(!String(reflecting: [options]).contains("sesame"))
        var dumped = ""
        dump(options, to: &dumped)
        #expect(!dumped.contains("sesame"))
        #expect("\(ConnectionOptions())" == "the server given by the PG environment variables")
    }

    static let oddPasswords = [
        "sesame", "sesame@sesame", "sesame/sesame", "sesame?sesame", "sesame?a@sesame/sesame", "sesame@a?b=c",
        "sesame:sesame", "sesame#sesame", "sesame%zz", "sesame%00", "sesame\"sesame", "\"sesame", "'sesame",
        "sesame sesame", "\u{301}sesame", "[sesame", "sesame]", "sesame\\", "sesame=sesame", "sesame\nsesame",
    ]

    /// Every attempt to connect fails: nothing listens on port 1, and a password that is misread as a host has no address.
    @Test(
        "A password with odd characters appears neither in the description nor in an error",
        arguments: oddPasswords)
    func oddPassword(_ password: String) async throws {
        for conninfo in [
            "postgresql://sam:\(password)@127.0.0.1:1/quakes",
            "mysql://sam:\(password)@127.0.0.1:1/quakes",
            "host=127.0.0.1 port=1 password=\(password)",
            "host=127.0.0.1 port=1 dbname='postgresql://sam:\(password)@127.0.0.1:1/quakes'",
        ] {
            let error = try await postgresError {
                let options = try ConnectionOptions(conninfo)
                #expect(!"\(options)".contains("sesame"))
                try await Connection.with(options, logger: .quiet) { _ in }
            }
            #expect(!"\(error)".contains("sesame"))
            #expect(!"\(error)".contains { $0.isNewline })
        }
    }

    @Test(
        "Keepalives and time limits have defaults, which can be overridden; the encoding cannot be overridden"
    )
    func defaults() throws {
        let plain = try ConnectionOptions("host=db").effective
        #expect(plain["keepalives_idle"] == "30")
        #expect(plain["tcp_user_timeout"] == "60000")
        #expect(plain["fallback_application_name"] == "quakes")

        let own = try ConnectionOptions("host=db keepalives_idle=5 tcp_user_timeout=7 client_encoding=LATIN1")
        #expect(own.effective["keepalives_idle"] == "5")
        #expect(own.effective["tcp_user_timeout"] == "7")
        #expect(own.effective["client_encoding"] == "UTF8")
    }

    @Test(
        "connect_timeout is in seconds; without it, or with 0, the limit is 10 s, or 3 s with several hosts",
        arguments: [
            ("host=db connect_timeout=4", 4), ("host=db", 10), ("host=db connect_timeout=0", 10),
            ("host=a,b", 3), ("host=a,b connect_timeout=4", 4),
        ])
    func connectTimeout(_ conninfo: String, seconds: Int) throws {
        let options = try ConnectionOptions(conninfo).effective
        #expect([ServerHost](options).connectLimit(options["connect_timeout"]) == .seconds(seconds))
    }

    @Test("Lists of hosts, addresses and ports are split as libpq does, and can be joined again")
    func hosts() throws {
        func hosts(_ conninfo: String) throws -> [ServerHost] {
            try [ServerHost](ConnectionOptions(conninfo).effective)
        }
        func places(_ conninfo: String) throws -> [String] {
            try hosts(conninfo).map { "\($0.name) \($0.address) \($0.port)" }
        }
        #expect(try places("host=/a,192.0.2.1 port=1,2") == ["/a  1", "192.0.2.1  2"])
        #expect(try places("host=/a,/b port=7") == ["/a  7", "/b  7"])
        #expect(try places("host=a,b hostaddr=192.0.2.1,192.0.2.2") == ["a 192.0.2.1 ", "b 192.0.2.2 "])
        #expect(try places("dbname=x") == ["  "])
        let list = try hosts("host=/a,/b port=7")
        #expect(list.keywords == ["host": "/a,/b", "hostaddr": ",", "port": "7,7"])
        #expect([ServerHost](list.keywords) == list)
    }

    @Test(
        "A failed host is not tried again; a silent host is tried again only at its other addresses")
    func leaving() throws {
        func rest(_ conninfo: String, _ place: ServerHost, isSilent: Bool = false) throws -> [String] {
            try [ServerHost](ConnectionOptions(conninfo).effective).leaving(place, isSilent: isSilent)
                .map { "\($0.name) \($0.address) \($0.port)" }
        }
        let b = ServerHost(name: "/b", address: "", port: "2")
        #expect(try rest("host=/a,/b,/b port=1,2,3", b) == ["/a  1", "/b  3"])
        #expect(try rest("host=/b port=2", b).isEmpty)
        #expect(
            try rest("dbname=x", ServerHost(name: "/var/run/postgresql", address: "", port: "5432")).isEmpty)
        let local = ServerHost(name: "localhost", address: "192.0.2.1", port: "7")
        #expect(try rest("host=localhost port=7", local).isEmpty)
        let others = try rest("host=localhost port=7", local, isSilent: true)
        #expect(others.contains("localhost 127.0.0.1 7"))
    }
}
