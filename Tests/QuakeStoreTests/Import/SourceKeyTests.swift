import Feed
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("The names of sources with secrets")
struct SourceKeyTests {
    /// Of the reference implementation, for texts of the bytes 0, 1, 2, … and a key of the same
    /// (https://github.com/veorq/SipHash/blob/master/vectors.h).
    @Test(
        "SipHash-2-4 gives the published values",
        arguments: [
            (0, 0x726f_db47_dd0e_0e31), (1, 0x74f8_39c5_93dc_67fd), (2, 0x0d6c_8009_d9a9_4f5a),
            (3, 0x8567_6696_d7fb_7e2d), (15, 0xa129_ca61_49be_45e5),
        ] as [(Int, UInt64)])
    func sipHash(count: Int, value: UInt64) {
        #expect(QuakeStore.sipHash((0..<count).map { UInt8($0) }, key: (0..<16).map { UInt8($0) }) == value)
    }

    @Test("The same secret has other digits in another database, and two secrets have different ones")
    func names() async throws {
        var all: [String?] = []
        for _ in 0..<2 {
            try await TestServer.shared.withEmptyDatabase { database in
                try await database.withConnection { connection in
                    try await Migrator(connection).migrate()
                    for url in [
                        "https://host/a?apikey=1", "https://host/a?apikey=2", "https://host/a?apikey=1",
                    ] {
                        all.append(try await SourceKey.name(of: FeedSource(url), on: connection))
                    }
                    let plain = "https://host/a?format=csv"
                    #expect(try await SourceKey.name(of: FeedSource(plain), on: connection) == plain)
                }
            }
        }
        let names = all.compactMap(\.self)
        #expect(names.count == 6 && Set(names).count == 4)
        #expect(names.allSatisfy { $0.wholeMatch(of: #/https://host/a\?…#[0-9a-f]{8}/#) != nil }, "\(names)")
        #expect(names[0] == names[2])
    }

    /// Whoever reads the key could find a short secret by trying.
    @Test(
        "Only a worker reads the key; a reader's status shows all sources that differ only in their secrets")
    func privileges() async throws {
        try await TestServer.shared.withRoles { roles in
            let sources = ["1", "2"].map { FeedSource("https://host/a?apikey=\($0)") }
            try await roles.login(.writer).withConnection { connection in
                for source in sources {
                    let name = try await SourceKey.name(of: source, on: connection)
                    try await connection.query(
                        "insert into import.run (source) values (\(name))", to: "record a run")
                }
                let found = try await ImportStatus.read(of: [sources[0]], on: connection)
                #expect(found.sources.count == 1)
            }
            for purpose in [Roles.Purpose.reader, .report, nil] {
                await #expect(throws: PostgresError.self) {
                    try await roles.login(purpose).query("select * from import.source_key")
                }
            }
            try await roles.login(.reader).withConnection { connection in
                let found = try await ImportStatus.read(of: [sources[0]], on: connection)
                #expect(found.sources.count == 2)
                let named = try await ImportStatus.read(
                    of: [FeedSource(found.sources[1].name)], on: connection)
                #expect(named.sources.map(\.name) == [found.sources[1].name])
                await #expect(throws: UnknownSource.self) {
                    try await ImportStatus.read(of: [FeedSource("https://host/b?apikey=1")], on: connection)
                }
            }
        }
    }
}
