import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("quakes import of an event service")
struct SweepCommandTests {
    private static let minute = 60_000
    private static let day = 86_400_000
    private static let now = Int(Date().timeIntervalSince1970) * 1000 - 3 * day

    private func command(_ database: TestDatabase, through server: TestFeedServer) -> QuakesCommand {
        QuakesCommand(["DATABASE_URL": database.url, "http_proxy": "http://127.0.0.1:\(server.port)"])
    }

    @Test("A sweep prints its summary and its cursor, and status shows the results of the sweeps")
    func once() async throws {
        let catalogue = TestCatalogue(now: Self.now)
        catalogue.change { state in
            for number in 1...9 {
                state.add(
                    .init(
                        "us\(number)", time: Self.now - 40 * Self.day, updated: Self.now - number * Self.day))
            }
        }
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: catalogue.answer) { server in
                let quakes = command(database, through: server)
                // The service's URL may lack its final slash.
                let service = String(TestCatalogue.service.dropLast())
                let text = try await quakes.run("import", service, "--since", "3d")
                #expect(text.status == 0, "\(text.errors)")
                #expect(text.output.hasPrefix("\(TestCatalogue.service): 0 seen"), "\(text.output)")
                try await database.query("delete from import.sweep")
                let json = try await quakes.run("import", service, "--format", "json")
                #expect(json.status == 0, "\(json.errors)")
                #expect(json.output.contains("\"inserted\":9"))
                #expect(json.output.contains("\"cursor\":\"20"), "\(json.output)")

                let status = try await quakes.run("status", "--max-age", "1h")
                #expect(status.status == 0, "\(status.errors)")
                #expect(
                    status.output.contains("2 sweeps in 24 h: 9 inserted, 0 updated, 0 deleted"),
                    "\(status.output)")
                let object = try await quakes.run("status", "--format", "json")
                #expect(object.output.contains("\"inserted_24h\":9"), "\(object.output)")
                let old = try await quakes.run("status", "--max-age", "0s", service)
                #expect(old.status == 69)

                let forgotten = try await quakes.run("forget", service)
                #expect(forgotten.status == 0, "\(forgotten.errors)")
                #expect(try await database.query("select from import.sweep").isEmpty)
            }
        }
    }

    @Test("By default, a daemon sweeps a service at most every five minutes, and imports its feeds as usual")
    func daemon() async throws {
        let catalogue = TestCatalogue(now: Self.now)
        catalogue.change { $0.add(.init("us1", time: Self.now - 40 * Self.day, updated: Self.now)) }
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: catalogue.answer) { server in
                let quakes = command(database, through: server)
                let feed = "http://\(TestCatalogue.host)/summary/all_day.geojson"
                func daemon(_ more: [String], until isDone: @escaping @Sendable () async throws -> Bool)
                    async throws
                {
                    let arguments = ["import", feed, TestCatalogue.service, "--every", "0.1s"] + more
                    let status = try await quakes.run(arguments) { process in
                        try await waitUntil { try await isDone() }
                        kill(process, SIGTERM)
                    }
                    #expect(status == 0)
                }
                @Sendable func sweeps() -> Int { server.requests.count { $0.uri.contains("includedeleted") } }

                try await daemon([]) {
                    server.requests.count { $0.uri.contains("summary") } > 5 && sweeps() > 0
                }
                #expect(sweeps() == 1)
                let every = try await database.query(
                    "select extract(epoch from every)::integer as every from import.run where source like '%event%' limit 1"
                )
                #expect(try every[0].decode("every") == 300)
                try await daemon(["--sweep-every", "0.1s"]) { sweeps() > 3 }
            }
        }
    }

    @Test(
        "A sweep of a service without a readable format ends with 65, and the error names the formats it needs"
    )
    func badData() async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.count, .updatedAfter])
        catalogue.change { $0.add(.init("us1", time: Self.now, updated: Self.now)) }
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                request.uri.contains("/count?") ? .whole(.ok, Array("12".utf8)) : catalogue.answer(request)
            }) { server in
                let quakes = command(database, through: server)
                let unfit = try await quakes.run("import", TestCatalogue.service)
                #expect(unfit.status == 65)
                #expect(unfit.errors.contains("GeoJSON or in the FDSN's text"), "\(unfit.errors)")
            }
        }
    }

    @Test("Options for event services are refused without such a service")
    func usage() async throws {
        let outcome = try await QuakesCommand().run("import", "all_day", "--since", "3d")
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("--since is for event services"))
    }

    /// Each process is killed while its sweep waits for an answer, or for the table `quake`, which another session has locked.
    @Test("A sweep that is killed at any point loses nothing: the next sweep imports everything")
    func killed() async throws {
        var random = seededRandom()
        let catalogue = TestCatalogue(now: Self.now)
        catalogue.change { state in
            for number in 0..<200 {
                state.add(
                    .init("us\(number)", time: Self.now - number * Self.day, updated: Self.now - Self.minute))
            }
        }
        let firstHeld = Mutex(Int.max)
        let received = Mutex(0)
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                let number = received.withLock { count in
                    count += 1
                    return count
                }
                return .held(catalogue.answer(request), until: { number < firstHeld.withLock { $0 } })
            }) { server in
                let quakes = command(database, through: server)
                for life in 0..<8 {
                    let gone = random.below(200)
                    catalogue.change { state in
                        state.now += 20 * Self.minute
                        state.delete("us\(gone)")
                        state.events["us\((gone + 7) % 200)"]?.updated = state.now
                        state.add(.init("ci\(life)", time: Self.now - 50 * Self.day, updated: state.now))
                        state.now += Self.minute
                    }
                    let held = server.requests.count + 1 + random.below(3)
                    let isFetching = random.below(2) == 0
                    if isFetching { firstHeld.withLock { $0 = held } }
                    try await database.withConnection { other in
                        if !isFetching {
                            try await other.execute(
                                script: "begin; lock table quake in exclusive mode", to: "lock the table")
                        }
                        let status = try await quakes.run(["import", TestCatalogue.service]) { process in
                            try await waitUntil {
                                isFetching
                                    ? server.requests.count >= held : try await database.blockedSessions() > 0
                            }
                            kill(process, SIGKILL)
                        }
                        #expect(status == 128 + SIGKILL)
                        if !isFetching { try await other.execute(script: "rollback", to: "unlock it") }
                    }
                    firstHeld.withLock { $0 = .max }
                    try await waitUntil { try await database.advisoryLocks() == 0 }
                }
                let last = try await quakes.run("import", TestCatalogue.service, "--retract", "force")
                #expect(last.status == 0, "\(last.errors)")
                let rows = try await database.query(
                    "select code, (extract(epoch from updated) * 1000)::bigint as updated from quake")
                let revised = try Dictionary(
                    uniqueKeysWithValues: rows.map {
                        try ($0.decode("code", as: String.self), $0.decode("updated", as: Int.self))
                    })
                #expect(revised == catalogue.revised)
            }
        }
    }
}
