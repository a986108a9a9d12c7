import Feed
import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

// Covers services that support less than the USGS's, or that ignore parts of a request.
extension SweepTests {
    @Test(
        "A service without counts and deletions can be swept, and is asked for them only once")
    func fewSkills() async throws {
        try await withCatalogue(knows: [.updatedAfter, .geojson]) { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            let summary = try await database.sweep(through: server)
            #expect(summary.failure == nil)
            #expect(try await database.revised() == catalogue.revised)
            let requests = server.requests.count
            try await database.sweep(through: server)
            #expect(server.requests.count == requests + 1)
        }
    }

    @Test(
        "A service that refuses so high a limit is asked without a limit, and keeps its other abilities",
        arguments: [
            TestCatalogue.Skill.allCases, [.count, .updatedAfter, .geojson], [.updatedAfter, .geojson],
        ])
    func lowLimit(_ skills: [TestCatalogue.Skill]) async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, limit: 10, tooMany: .tooLarge, knows: Set(skills))
        catalogue.change { state in
            for number in 1...35 {
                let time = now - number * Self.day / 2
                state.add(.init("us\(number)", time: time, updated: time + Self.minute))
            }
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                let first = try await database.sweep(through: server)
                #expect(first.failure == nil)
                #expect(try await database.revised() == catalogue.revised)
                let lacks = try await database.query("select lacks from import.sweep")[0]
                let kept = try Set(["updates", "geojson"]).isDisjoint(
                    with: lacks.decode("lacks", as: [String].self))
                #expect(kept)
                guard skills.contains(.includeDeleted) else { return }
                catalogue.change { state in
                    state.now += 5 * Self.minute
                    state.delete("us1")
                }
                #expect(try await database.sweep(through: server).counts.retracted == 1)
            }
        }
    }

    @Test("A service that ignores the requested format and answers in its own is swept")
    func oneFormat() async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, knows: [.text])
        catalogue.change { $0.add(.init("us1", time: now - Self.day, updated: now - Self.day)) }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                if request.uri.contains("/count?") { return catalogue.answer(request) }
                let start = request.uri.firstMatch(of: /&starttime=[^&]*/).map { String($0.0) } ?? ""
                return catalogue.answer(TestRequest(uri: "/fdsnws/event/1/query?format=text\(start)"))
            }) { server in
                let summary = try await database.sweep(through: server)
                #expect(summary.failure == nil && summary.counts.inserted == 1, "\(summary)")
            }
        }
    }

    @Test("A service that offers no readable format is refused with the reason")
    func unfit() async throws {
        try await withCatalogue(knows: [.count, .updatedAfter]) { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            let summary = try await database.sweep(through: server)
            let failure = try #require(summary.failure as? UnfitService)
            #expect(failure.reason.contains("its answer to query is"))
            #expect(try await database.cursor() == nil)
        }
    }

    @Test("The last millisecond of a window is requested in full from a service with microseconds")
    func microseconds() async throws {
        let times =
            ["23:59:59.9985", "23:59:59.999", "23:59:59.999600", "23:59:59.999999"].map { "2020-01-01T\($0)" }
            + ["2020-01-02T00:00:00.000000"]
        // The service compares times as text, so if one fraction begins with another, the longer one is later.
        let answer: @Sendable (TestRequest) -> TestFeedServer.Answer = { request in
            let items = URLComponents(string: request.uri)?.queryItems ?? []
            let values = Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
            if values["format"] != "text" { return .whole(.badRequest, []) }
            let found = times.filter { $0 >= values["starttime"] ?? "" && $0 <= values["endtime"] ?? "" }
            if request.uri.contains("/count?") { return .whole(.ok, Array("\(found.count)".utf8)) }
            if found.isEmpty { return .whole(.noContent, []) }
            let rows = found.map { "q\($0.suffix(6))|\($0)|2|1|3|a|a|a|x|ml|1|a|Somewhere\n" }
            return .whole(
                .ok,
                Array(
                    """
                    #EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor|EventLocationName
                    \(rows.joined())
                    """.utf8))
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: answer) { http in
                try await database.withConnection { connection in
                    var events = 0
                    for (from, to) in [("2020-01-01", "2020-01-02"), ("2020-01-02", "2020-01-03")] {
                        var options = Backfill.Options(from: try #require(Instant(from)))
                        options.to = Instant(to)
                        options.service = try #require(EventService(.url(http.url("/fdsnws/event/1/"))))
                        options.pace = .zero
                        let backfill = try await Backfill(
                            connection, options, imports: Importer.Options(), logger: .quiet)
                        events += try await backfill.run().events
                    }
                    // Each event was received once.
                    #expect(events == times.count)
                }
            }
            #expect(try await database.query("select from quake").count == times.count)
        }
    }

    @Test(
        "A service that can't select by revision time is asked by origin times, and events that it lacks are deleted",
        arguments: [[TestCatalogue.Skill.count, .geojson], [.geojson], [.count, .geojson, .includeDeleted]])
    func byWindow(_ knows: [TestCatalogue.Skill]) async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, knows: Set(knows))
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                catalogue.change { state in
                    for (code, days) in [
                        ("us1", 1), ("us2", 1), ("us3", 2), ("us4", 10), ("us5", 60), ("us6", 12),
                    ] {
                        let time = now - days * Self.day
                        state.add(TestCatalogue.Event(code, time: time, updated: time + Self.minute))
                    }
                }
                let first = try await database.sweep(through: server)
                #expect(first.failure == nil)
                #expect(try await database.revised().keys.sorted() == ["us1", "us2", "us3", "us4", "us6"])

                catalogue.change { state in
                    state.now += 5 * Self.minute
                    state.events["us1"]?.updated = state.now - Self.minute
                    state.events["us3"] = nil
                    state.events["us4"] = nil
                }
                let second = try await database.sweep(through: server)
                #expect(second.failure == nil)
                #expect(second.counts.updated == 1 && second.counts.retracted == 1)
                #expect(try await database.revised().keys.sorted() == ["us1", "us2", "us4", "us6"])

                // Once a day, the last 30 days are requested.
                try await database.query("update import.sweep set long_at = long_at - interval '1 day'")
                catalogue.change { $0.now += 5 * Self.minute }
                let third = try await database.sweep(through: server)
                #expect(third.counts.retracted == 1)
                #expect(try await database.revised().keys.sorted() == ["us1", "us2", "us6"])

                // A clock that was ahead does not put off the longer period.
                try await database.query("update import.sweep set long_at = long_at + interval '1 year'")
                catalogue.change { state in
                    state.now += 5 * Self.minute
                    state.events["us6"] = nil
                }
                #expect(try await database.sweep(through: server).counts.retracted == 1)
            }
        }
    }

    @Test(
        "A service that stops selecting by revision time fails until it is forgotten, and is then asked for the longer period"
    )
    func lostRevisions() async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let before = TestCatalogue(now: now)
        let after = TestCatalogue(now: now + 5 * Self.minute, knows: [.count, .geojson])
        let time = now - 10 * Self.day
        before.change { $0.add(.init("us1", time: time, updated: time)) }
        after.change { $0.add(.init("us1", time: time, updated: now + Self.minute)) }
        let hasChanged = Atomic(false)
        try await server.withDatabase { database in
            try await TestFeedServer.run(
                answering: { (hasChanged.load(ordering: .relaxed) ? after : before).answer($0) }
            ) { server in
                #expect(try await database.sweep(through: server).counts.inserted == 1)
                hasChanged.store(true, ordering: .relaxed)
                #expect(try await database.sweep(through: server).failure is FeedError)
                try await database.query("delete from import.sweep")
                let second = try await database.sweep(through: server)
                #expect(second.failure == nil && second.counts.updated == 1)
            }
        }
    }

    @Test(
        "A service without GeoJSON is read as text: changed rows are revisions, and missing events are deleted"
    )
    func byText() async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, knows: [.text])
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                catalogue.change { state in
                    for number in 1...4 {
                        let time = now - number * Self.day / 2
                        state.add(TestCatalogue.Event("ex2026aaa\(number)", time: time, updated: time))
                    }
                }
                let first = try await database.sweep(through: server)
                #expect(first.failure == nil)
                #expect(first.counts.inserted == 4)
                let requests = server.requests.count

                let second = try await database.sweep(through: server)
                #expect(second.counts.unchanged == 4)
                #expect(server.requests.count == requests + 1)

                catalogue.change { state in
                    state.events["ex2026aaa1"]?.magnitude = 5
                    state.events["ex2026aaa2"] = nil
                }
                let third = try await database.sweep(through: server)
                #expect(third.counts.updated == 1 && third.counts.retracted == 1)
                let rows = try await database.query("select code, magnitude, url from quake order by code")
                #expect(
                    try rows.map { try $0.decode("code") } == [
                        "quake.example.gov:ex2026aaa1", "quake.example.gov:ex2026aaa3",
                        "quake.example.gov:ex2026aaa4",
                    ])
                #expect(try rows[0].decode("magnitude") == 5.0)
                #expect(
                    try rows[0].decode("url")
                        == "https://\(TestCatalogue.host)/fdsnws/event/1/query?eventid=ex2026aaa1")
            }
        }
    }

    @Test(
        "A text answer that may have been cut off does not show that an event was deleted",
        arguments: [0, 1, 40])
    func openEnded(missing: Int) async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, knows: [.text])
        let cut = Atomic(0)
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                guard case .whole(let status, let body, _) = catalogue.answer(request) else { return .silent }
                return .whole(status, Array(body.dropLast(cut.load(ordering: .relaxed))))
            }) { server in
                catalogue.change { state in
                    for number in 1...4 {
                        let time = now - number * Self.day / 2
                        state.add(TestCatalogue.Event("ex2026aaa\(number)", time: time, updated: time))
                    }
                }
                try await database.sweep(through: server)
                catalogue.change { $0.events["ex2026aaa4"] = nil }
                cut.store(missing, ordering: .relaxed)
                let second = try await database.sweep(through: server)
                #expect(second.counts.retracted == (missing == 0 ? 1 : 0))
                // An answer that ends within a row was certainly cut off.
                #expect((second.failure != nil) == (missing == 40))
                cut.store(0, ordering: .relaxed)
                try await database.sweep(through: server)
                #expect(try await database.revised().count == 3)
            }
        }
    }

    @Test("A sweep by origin times that is split into parts deletes no event")
    func byWindowInParts() async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, limit: 3, knows: [.count, .geojson])
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                catalogue.change { state in
                    for number in 1...8 {
                        let time = now - number * Self.day / 4
                        state.add(TestCatalogue.Event("us\(number)", time: time, updated: time))
                    }
                }
                #expect(try await database.sweep(through: server, { $0.sweepLimit = 3 }).counts.inserted == 8)
                catalogue.change { state in
                    state.now += 5 * Self.minute
                    state.events["us5"] = nil
                }
                let second = try await database.sweep(through: server) { $0.sweepLimit = 3 }
                #expect(second.failure == nil && second.counts.retracted == 0)
                #expect(try await database.revised().count == 8)
            }
        }
    }

    @Test(
        "Refusals after the first sweep fail the sweep, but the service still counts as able to answer such requests",
        arguments: ["includedeleted=only", "count?", "&orderby="],
        [(TestStatus.notFound, 100), (.badRequest, 1), (.badRequest, 3)])
    func passingRefusal(part: String, refusal: (status: TestStatus, times: Int)) async throws {
        try await withCatalogue { database, catalogue, _ in
            // Only a deletion shows that the service gives its deletions.
            catalogue.change { state in
                for code in ["us1", "us2"] { state.add(event(code)) }
                state.delete("us2")
            }
            let refusals = Atomic(0)
            try await TestFeedServer.run(answering: { request in
                let isAsked =
                    request.uri.contains(part)
                    && (part == "includedeleted=only") == request.uri.contains("includedeleted=only")
                guard isAsked, refusals.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 else {
                    return catalogue.answer(request)
                }
                return .whole(refusal.status, [])
            }) { server in
                #expect(try await database.sweep(through: server).failure == nil)
                refusals.store(refusal.times, ordering: .relaxed)
                #expect(try await database.sweep(through: server).failure is FeedError)
                refusals.store(0, ordering: .relaxed)
                catalogue.change { state in
                    state.now += Self.minute
                    state.delete("us1")
                }
                #expect(try await database.sweep(through: server).failure == nil)
                #expect(try await database.revised().isEmpty)
                let lacks = try await database.query("select cardinality(lacks) as count from import.sweep")[
                    0]
                #expect(try lacks.decode("count") == 0)
            }
        }
    }

    @Test(
        "A service that had no events in its first sweep may still turn out to lack GeoJSON",
        arguments: [[.count, .text], [.text]] as [Set<TestCatalogue.Skill>])
    func emptyFirstSweep(_ skills: Set<TestCatalogue.Skill>) async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, knows: skills)
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                for number in 0...1 {
                    if number > 0 {
                        catalogue.change {
                            $0.add(.init("us1", time: now - Self.day, updated: now - Self.day))
                        }
                    }
                    let summary = try await database.sweep(through: server)
                    #expect(summary.failure == nil && summary.counts.inserted == number)
                }
            }
        }
    }

    /// other server: is an hour behind, gives no deletion
    /// sweep:        asks this server for deletions ── asks the other one for events ── the cursor is an hour behind
    @Test("If one of a service's servers lags behind, the next sweep asks again for what that server lacked")
    func laggingServer() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            try await database.sweep(through: server)
            let lagging = TestCatalogue(now: Self.now)
            lagging.change { $0.add(event("us1")) }
            catalogue.change { state in
                state.now += 60 * Self.minute
                var late = event("us2")
                late.updated = state.now - 30 * Self.minute
                state.add(late)
            }
            try await TestFeedServer.run(answering: { request in
                (request.uri.contains("includedeleted=only") ? catalogue : lagging).answer(request)
            }) { server in
                let summary = try await database.sweep(through: server)
                let cursor = try await database.cursor()
                #expect(summary.failure == nil && cursor == Self.now)
            }
            try await database.sweep(through: server)
            let revised = try await database.revised()
            #expect(revised == catalogue.revised)
        }
    }

    @Test("A service that answers 413 to too many events is asked for fewer")
    func tooLarge() async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, limit: 3, tooMany: .tooLarge, knows: [.text])
        catalogue.change { state in
            for number in 1...8 {
                let time = now - number * Self.day / 4
                state.add(TestCatalogue.Event("us\(number)", time: time, updated: time))
            }
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                let summary = try await database.sweep(through: server)
                #expect(summary.failure == nil && summary.counts.inserted == 8)
            }
        }
    }

    @Test(
        "After a long stop, a sweep by origin times covers all of the time since the last sweep"
    )
    func longStop() async throws {
        let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * Self.minute
        let catalogue = TestCatalogue(now: now, knows: [.count, .geojson])
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                // Without any event, the service would not be asked for its clock.
                catalogue.change { $0.add(.init("us0", time: now - Self.day, updated: now - Self.day)) }
                try await database.sweep(through: server)
                try await database.query(
                    "update import.sweep set cursor = cursor - interval '45 days', long_at = long_at - interval '45 days'"
                )
                catalogue.change { state in
                    state.now += 5 * Self.minute
                    for (code, days) in [("us1", 1), ("us2", 44), ("us3", 47), ("us4", 60)] {
                        let time = now - days * Self.day
                        state.add(TestCatalogue.Event(code, time: time, updated: time))
                    }
                }
                #expect(try await database.sweep(through: server).failure == nil)
                let codes = try await database.revised().keys.sorted()
                #expect(codes == ["us0", "us1", "us2", "us3"], "\(server.requests.map(\.uri))")
            }
        }
    }

    @Test("A service that ignores the parameter includedeleted deletes no event", arguments: [false, true])
    func ignorant(isEmptyAtFirst: Bool) async throws {
        try await withCatalogue { database, catalogue, _ in
            if !isEmptyAtFirst {
                catalogue.change { state in for number in 1...3 { state.add(event("us\(number)")) } }
            }
            try await TestFeedServer.run(answering: { request in
                catalogue.answer(TestRequest(uri: request.uri.replacing("&includedeleted=only", with: "")))
            }) { server in
                var summary = try await database.sweep(through: server)
                if isEmptyAtFirst {
                    catalogue.change { $0.add(event("us4")) }
                    summary = try await database.sweep(through: server)
                }
                #expect(summary.failure == nil)
                #expect(try await database.revised() == catalogue.revised)
                #expect(summary.counts.rejected == 0)
            }
        }
    }

    @Test(
        "A service that ignores the times when it lists deletions is asked fewer than 20 times, with pauses")
    func ignoredTimes() async throws {
        let requests = Atomic(0)
        let pauses = Mutex<[Duration]>([])
        try await withCatalogue { _, answer in
            // Without this limit, a faulty sweep would never end.
            requests.wrappingAdd(1, ordering: .relaxed).newValue < 200 ? answer : .whole(.notFound, [])
        } _: { database, catalogue, server in
            catalogue.change { state in
                state.add(event("us1"))
                for number in 1...50 { state.gone.append(.init(code: "us9\(number)", at: state.now)) }
            }
            let summary = try await database.sweep(through: server) { options in
                options.sweepLimit = 20
                options.fetch.sleep = { pause in pauses.withLock { $0.append(pause) } }
            }
            #expect(summary.failure == nil && summary.counts.inserted == 1)
            let asked = server.requests.count { $0.uri.contains("includedeleted") }
            #expect(asked > 1 && asked < 20)
            #expect(pauses.withLock(\.self) == Array(repeating: .seconds(1), count: asked - 1))
            #expect(try await database.count("import.withdrawn") == 20)
        }
    }

    @Test("A service that ignores the times when it lists events is refused with the reason")
    func ignoredTimesOfEvents() async throws {
        let requests = Atomic(0)
        try await withCatalogue(knows: [.updatedAfter, .geojson]) { database, catalogue, _ in
            catalogue.change { state in for number in 1...20 { state.add(event("us\(number)")) } }
            try await TestFeedServer.run(answering: { request in
                let times = #/(start|end)time=[^&]*/#
                let uri =
                    requests.wrappingAdd(1, ordering: .relaxed).newValue < 200
                    ? request.uri.replacing(times, with: "starttime=1000-01-01T00:00:00.000") : "/"
                return catalogue.answer(TestRequest(uri: uri))
            }) { server in
                let summary = try await database.sweep(through: server) { $0.sweepLimit = 20 }
                #expect(
                    (summary.failure as? UnfitService)?.reason == "it gives 20 events in one millisecond",
                    "\(summary.failure as Any)")
                #expect(server.requests.count < 40)
                #expect(try await database.cursor() == nil)
            }
        }
    }

    @Test("All deletions count, even if there are more than may be in memory at a time")
    func manyDeletions() async throws {
        try await withCatalogue { database, catalogue, server in
            let named = 2 * StatedDeletions.limitInMemory + 7
            catalogue.change { state in
                for number in 1...9 { state.add(event("us\(number)")) }
                for number in 1...named { state.gone.append(.init(code: "xx\(number)", at: state.now)) }
                for number in 1...2500 {
                    state.gone.append(.init(code: "\(number)", at: state.now + number, isNamed: false))
                }
            }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += 5 * Self.minute
                state.delete("us1")
                state.now += Self.minute
            }
            let summary = try await database.sweep(through: server) { $0.batchSize = 1000 }
            #expect(summary.failure == nil, "\(summary.failure as Any)")
            #expect(summary.counts.retracted == 1 && summary.counts.rejected == 2500)
            #expect(try await database.revised() == catalogue.revised)
            #expect(try await database.count("import.withdrawn") == named + 1)
            #expect(try await database.count("import.reject") == 2500)
        }
    }

    @Test("Stored deletions are removed from memory, and replace those of an earlier document")
    func storedDeletions() async throws {
        try await server.withDatabase { database in
            try await database.withConnection { connection in
                let deletion = StatedDeletion(code: "us1", at: nil)
                for _ in 0..<2 {
                    var deletions = StatedDeletions()
                    for count in [3, StatedDeletions.limitInMemory] {
                        deletions.append(Array(repeating: deletion, count: count))
                        #expect(deletions.isFull == (count > 3))
                        try await deletions.store(of: "host", at: Instant(milliseconds: 5), on: connection)
                        #expect(deletions.inMemory.isEmpty && !deletions.isFull)
                    }
                    #expect(deletions.count == 3 + StatedDeletions.limitInMemory)
                    let row = try await connection.query(
                        "select count(*) as count, min(service) as service, max(deleted_at) as at from pg_temp.stated",
                        to: "look")[0]
                    #expect(try row.decode("count") == deletions.count)
                    #expect(try row.decode("service") == "host")
                    #expect(try row.decode("at") == Instant(milliseconds: 5))
                }
            }
        }
    }
}
