import Feed
import Foundation
import PostgreSQL
import SampleFeed
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Sweeps of an event service")
struct SweepTests {
    let server = TestServer.shared
    static let minute = 60_000
    static let day = 86_400_000
    /// Three days ago: tests can move the service's clock forward from here without reaching the future.
    static let now = Int(Date().timeIntervalSince1970) * 1000 - 3 * day

    func withCatalogue(
        limit: Int = 20_000, knows: Set<TestCatalogue.Skill> = Set(TestCatalogue.Skill.allCases),
        fault: @escaping @Sendable (TestRequest, TestFeedServer.Answer) -> TestFeedServer.Answer = { $1 },
        _ body: (TestDatabase, TestCatalogue, TestFeedServer) async throws -> Void
    ) async throws {
        let catalogue = TestCatalogue(now: Self.now, limit: limit, knows: knows)
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { fault($0, catalogue.answer($0)) }) { server in
                try await body(database, catalogue, server)
            }
        }
    }

    func event(
        _ code: String, age: Int = 40 * SweepTests.day, revised: Int = SweepTests.minute, ids: [String]? = nil
    ) -> TestCatalogue.Event {
        TestCatalogue.Event(code, time: Self.now - age, updated: Self.now - revised, ids: ids)
    }

    // MARK: Revisions and deletions

    @Test("Every revised event is imported, however old it is, and the cursor is set to the service's clock")
    func revisions() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change {
                $0.add(event("us1"))
                $0.add(event("us2", revised: 40 * Self.day))
            }
            let first = try await database.sweep(through: server)
            #expect(first.failure == nil)
            #expect(first.counts.inserted == 1)
            #expect(try await database.cursor() == Self.now)

            catalogue.change { state in
                state.now += 5 * Self.minute
                state.events["us2"]?.updated = state.now - Self.minute
            }
            let second = try await database.sweep(through: server)
            #expect(second.counts.inserted == 1 && second.counts.unchanged == 1)
            #expect(try await database.revised() == catalogue.revised)
            let run = try await database.query(
                "select source, outcome, seen, inserted from import.run order by id desc limit 1")[0]
            #expect(try run.decode("source") == TestCatalogue.service)
            #expect(try run.decode("seen") == 2)
            #expect(try run.decode("inserted") == 1)
        }
    }

    @Test(
        "A service without updatedafter is swept even if its clock is wrong by years",
        arguments: [0, Self.now / 1000])
    func oldClock(_ generated: Int) async throws {
        let fault: @Sendable (TestRequest, TestFeedServer.Answer) -> TestFeedServer.Answer = {
            $1.replacing("\"generated\":\(Self.now)", with: "\"generated\":\(generated)")
        }
        let skills = Set(TestCatalogue.Skill.allCases).subtracting([.updatedAfter])
        try await withCatalogue(knows: skills, fault: fault) { database, catalogue, server in
            catalogue.change { $0.add(event("us1", age: Self.day)) }
            let summary = try await database.sweep(through: server)
            #expect(summary.failure == nil)
            #expect(summary.counts.inserted == 1)
        }
    }

    @Test("A sweep makes three requests, and each accepts gzip and names a contact")
    func requests() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            try await database.sweep(through: server) { $0.fetch.contact = "mail@example.org" }
            #expect(server.requests.count == 3)
            for request in server.requests {
                #expect(request.headers["accept-encoding"] == ["gzip"])
                #expect(request.headers["user-agent"].first?.hasSuffix("; mail@example.org)") == true)
                #expect(request.uri.contains("starttime=1000-01-01"))
            }
        }
    }

    @Test(
        "An event that the service lists as deleted is deleted, and the history names the service as the reason"
    )
    func deletions() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { state in
                for number in 1...9 { state.add(event("us\(number)")) }
            }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += Self.minute
                state.delete("us1")
                state.gone.append(TestCatalogue.Gone(code: "us99", at: state.now))
                state.now += Self.minute
            }
            let summary = try await database.sweep(through: server)
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 1)
            #expect(try await database.revised() == catalogue.revised)
            #expect(try await database.reasons() == ["deleted by \(TestCatalogue.host)"])
        }
    }

    @Test("An event that was deleted and is listed again with a revision is kept")
    func back() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { state in for number in 1...9 { state.add(event("us\(number)")) } }
            try await database.sweep(through: server)
            catalogue.change {
                $0.now += Self.minute
                $0.delete("us1")
                $0.now += Self.minute
            }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += Self.minute
                state.add(TestCatalogue.Event("us1", time: Self.now, updated: state.now))
                state.now += Self.minute
            }
            try await database.sweep(through: server)
            try await database.sweep(through: server)
            #expect(try await database.revised() == catalogue.revised)
        }
    }

    @Test("A renamed event continues under its new code, however old it is")
    func renamed() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += 5 * Self.minute
                state.events["us1"] = nil
                state.add(
                    TestCatalogue.Event(
                        "ci1", time: Self.now - 40 * Self.day, updated: state.now, ids: ["us1", "ci1"]))
                state.now += Self.minute
            }
            let summary = try await database.sweep(through: server)
            #expect(summary.counts.superseded == 1)
            #expect(try await database.revised() == catalogue.revised)
            #expect(try await database.reasons() == ["superseded by ci1"])
        }
    }

    @Test("Deletions that name no event are kept as separate rejects, and do not stop the sweep")
    func unnamed() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { state in
                for number in 1...20 {
                    state.gone.append(.init(code: "us\(number)", at: state.now - number, isNamed: false))
                }
            }
            for _ in 0..<2 {
                let summary = try await database.sweep(through: server)
                #expect(summary.failure == nil)
                #expect(summary.counts.seen == 20 && summary.counts.rejected == 20)
            }
            let rejects = try await database.query(
                "select count(*) as count, sum(count)::bigint as met, min(reason) as reason from import.reject"
            )[0]
            #expect(try rejects.decode("count") == 20)
            #expect(try rejects.decode("met") == 40)
            #expect(try rejects.decode("reason") == "unnamed")
            // A monitor should not report these rejects, because they are not faults.
            let status = try await database.withConnection { try await ImportStatus.read(on: $0) }
            #expect(status.rejects == 0)
            #expect(try await database.cursor() == Self.now)
        }
    }

    @Test(
        "A feature without a readable id does not stop a sweep: deletions count, but no event counts as renamed"
    )
    func unreadable() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { state in for number in 1...20 { state.add(event("us\(number)")) } }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += Self.minute
                state.delete("us1")
                state.events["us2"] = nil
                state.add(event("ci2", revised: 0, ids: ["us2", "ci2"]))
                state.add(event("us3", revised: 0))
                state.features["us3"] = #"{"type":"Feature","properties":{}}"#
                state.now += Self.minute
            }
            let summary = try await database.sweep(through: server)
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 1 && summary.counts.superseded == 0)
            #expect(try await database.cursor() == Self.now + 2 * Self.minute)
        }
    }

    @Test("A deletion without a readable time does not stop a sweep without other news")
    func unreadableDeletion() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { state in for number in 1...20 { state.add(event("us\(number)")) } }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += Self.minute
                for number in 1...3 { state.delete("us\(number)") }
                // The geometry of a deleted event does not matter.
                state.features["us2"] =
                    #"{"type":"Feature","id":"us2","geometry":{"type":"GeometryCollection","geometries":[]},"properties":{"updated":\#(state.now),"status":"deleted"}}"#
                state.features["us3"] =
                    #"{"type":"Feature","id":"us3","geometry":null,"properties":{"updated":null,"status":"deleted"}}"#
                state.now += Self.minute
            }
            let summary = try await database.sweep(through: server)
            #expect(summary.failure == nil)
            #expect(summary.counts.retracted == 2 && summary.counts.rejected == 1)
            #expect(try await database.cursor() == Self.now + 2 * Self.minute)
        }
    }

    // MARK: The brake

    @Test(
        "If a service deletes too many events, none is deleted, and the next sweep asks for the deletions again"
    )
    func brake() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { state in
                for number in 1...20 { state.add(event("us\(number)", revised: Self.day)) }
            }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += Self.minute
                for number in 1...8 { state.delete("us\(number)") }
                state.add(TestCatalogue.Event("us30", time: state.now, updated: state.now))
                state.now += Self.minute
            }
            let held = try await database.sweep(through: server)
            #expect("\(held.failure.map { "\($0)" } ?? "")".contains("says that 8 events were deleted"))
            #expect(held.counts.inserted == 1)
            #expect(try await database.revised().count == 21)
            #expect(try await database.cursor() == Self.now)
            let forced = try await database.sweep(through: server) { $0.retraction = .force }
            #expect(forced.failure == nil)
            #expect(try await database.revised() == catalogue.revised)
        }
    }

    @Test("A sweep that may not delete asks for no deletions, but moves its cursor")
    func never() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            try await database.sweep(through: server) { $0.retraction = .never }
            #expect(server.requests.allSatisfy { !$0.uri.contains("includedeleted") })
            #expect(try await database.cursor() == Self.now)
        }
    }

    // MARK: Large sweeps

    /// While the parts are being read, events are deleted, moved and revised. Such changes would shift numbered pages.
    @Test(
        "A sweep that is too large for one answer is split by origin times, and the next sweep imports what changed meanwhile"
    )
    func large() async throws {
        let random = Mutex(seededRandom())
        let asked = Atomic(0)
        let catalogue = TestCatalogue(now: Self.now, limit: 50)
        catalogue.change { state in
            for number in 0..<1000 {
                state.add(event("us\(number)", age: number * number * 100_000, revised: 3 * Self.day))
            }
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                if asked.add(1, ordering: .relaxed).newValue > 3 {
                    let (one, other, third) = random.withLock {
                        ($0.below(1000), $0.below(1000), $0.below(1000))
                    }
                    catalogue.change { state in
                        state.now += 1
                        if one % 10 == 0 { state.delete("us\(one)") }
                        state.events["us\(other)"]?.time -= Self.day
                        state.events["us\(other)"]?.updated = state.now
                        state.events["us\(third)"]?.updated = state.now
                    }
                }
                return catalogue.answer(request)
            }) { server in
                let first = try await database.sweep(through: server) {
                    $0.sweepLimit = 50
                    $0.retraction = .force
                }
                #expect(first.failure == nil)
                let requests = server.requests.count
                #expect(requests < 160, "20 answers have room for all events")
                asked.store(.min, ordering: .relaxed)
                catalogue.change { $0.now += Self.minute }
                let second = try await database.sweep(through: server) {
                    $0.sweepLimit = 50
                    $0.retraction = .force
                }
                #expect(second.failure == nil)
                #expect(try await database.revised() == catalogue.revised)
            }
        }
    }

    // MARK: Faults

    @Test(
        "After an answer that fails, is cut off or is of another kind, nothing is lost, because the cursor stays",
        arguments: 0..<6, ["includedeleted", "count?", "query?"])
    func faults(kind: Int, of what: String) async throws {
        let isFaulty = Atomic(false)
        let fault: @Sendable (TestRequest, TestFeedServer.Answer) -> TestFeedServer.Answer = {
            request, answer in
            guard isFaulty.load(ordering: .relaxed), request.uri.contains(what),
                case .whole(_, let body, _) = answer
            else { return answer }
            switch kind {
            case 0: return .resetAtOnce
            case 1: return .whole(.serviceUnavailable, [], headers: ["retry-after": "1"])
            case 2: return .cutOff(Array(body.prefix(body.count / 2)), promised: body.count)
            case 3: return .whole(.unprocessableEntity, [])
            case 4: return .whole(.ok, Array("<!DOCTYPE html><title>Maintenance</title>".utf8))
            default: return .whole(.ok, Array(body.prefix(body.count / 3)))
            }
        }
        try await withCatalogue(fault: fault) { database, catalogue, server in
            catalogue.change { state in for number in 1...20 { state.add(event("us\(number)")) } }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.now += 20 * Self.minute
                state.events["us1"]?.updated = state.now
                state.delete("us2")
                state.now += Self.minute
            }
            isFaulty.store(true, ordering: .relaxed)
            let failed = try await database.sweep(through: server)
            // A count that was cut off is a number, too.
            if !(kind == 5 && what == "count?") {
                #expect(failed.failure != nil)
                #expect(try await database.cursor() == Self.now)
                #expect(failed.counts.retracted == 0)
            }
            isFaulty.store(false, ordering: .relaxed)
            catalogue.change { $0.now += 30 * Self.minute }
            let summary = try await database.sweep(through: server)
            #expect(summary.failure == nil)
            #expect(try await database.revised() == catalogue.revised)
        }
    }

    @Test("If a service sends fewer events than it counts, the run fails, but the received events are kept")
    func miscounted() async throws {
        let fault: @Sendable (TestRequest, TestFeedServer.Answer) -> TestFeedServer.Answer = {
            request, answer in
            request.uri.contains("count?") ? .whole(.ok, Array("12".utf8)) : answer
        }
        try await withCatalogue(fault: fault) { database, catalogue, server in
            catalogue.change { state in for number in 1...9 { state.add(event("us\(number)")) } }
            let summary = try await database.sweep(through: server)
            #expect(summary.failure is ShortAnswer, "\(summary.failure.map { "\($0)" } ?? "")")
            #expect(try await database.revised() == catalogue.revised)
            #expect(try await database.cursor() == nil)
        }
    }

    @Test(
        "If a service sends fewer deletions than it counts, the run imports its events and fails, and the next one deletes"
    )
    func missingDeletion() async throws {
        let isFaulty = Atomic(false)
        try await withCatalogue(
            fault: { request, answer in
                guard isFaulty.load(ordering: .relaxed), request.uri.contains("includedeleted=only"),
                    case .whole(let status, let body, _) = answer
                else { return answer }
                let text = String(decoding: body, as: UTF8.self)
                return .whole(
                    status,
                    Array(text.replacing(#/"count":(\d+)/#) { "\"count\":\((Int($0.1) ?? 0) + 1)" }.utf8))
            },
            { database, catalogue, server in
                catalogue.change { state in for number in 1...20 { state.add(event("us\(number)")) } }
                try await database.sweep(through: server)
                catalogue.change { state in
                    state.now += 20 * Self.minute
                    state.events["us1"]?.updated = state.now
                    state.delete("us2")
                }
                isFaulty.store(true, ordering: .relaxed)
                let failed = try await database.sweep(through: server)
                #expect(
                    failed.failure.map { "\($0)" }?.contains("deletions from") == true,
                    "\(failed.failure.map { "\($0)" } ?? "")")
                #expect(failed.counts.updated == 1 && failed.counts.retracted == 0)
                #expect(try await database.cursor() == Self.now)
                isFaulty.store(false, ordering: .relaxed)
                let summary = try await database.sweep(through: server)
                #expect(summary.failure == nil && summary.counts.retracted == 1)
            })
    }

    @Test("A document with fewer features than its metadata says is complete if the service counts no more")
    func shortHead() async throws {
        try await withCatalogue(
            fault: { request, answer in
                guard request.uri.contains("query?"), case .whole(let status, let body, _) = answer else {
                    return answer
                }
                let text = String(decoding: body, as: UTF8.self).replacing(
                    "\"count\":9", with: "\"count\":11")
                return .whole(status, Array(text.utf8))
            },
            { database, catalogue, server in
                catalogue.change { state in for number in 1...9 { state.add(event("us\(number)")) } }
                let summary = try await database.sweep(through: server)
                #expect(try await database.revised() == catalogue.revised)
                #expect(summary.failure == nil)
            })
    }

    // MARK: Clocks

    @Test("A cursor in the future is ignored, and the sweep sets the cursor back to the service's clock")
    func future() async throws {
        try await withCatalogue { database, catalogue, server in
            catalogue.change { $0.add(event("us1", revised: Self.day)) }
            try await database.query(
                "insert into import.sweep (source, cursor) values (\(TestCatalogue.service), now() + interval '1 year')"
            )
            let summary = try await database.sweep(through: server)
            #expect(summary.failure == nil)
            #expect(try await database.revised() == catalogue.revised)
            #expect(try await database.cursor() == Self.now)
        }
    }

    @Test("A service whose clock is ahead deletes nothing, and its cursor stays")
    func ahead() async throws {
        let ahead = Int(Date().timeIntervalSince1970) * 1000 + 3_600_000
        try await withCatalogue { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            try await database.sweep(through: server)
            catalogue.change { state in
                state.delete("us1")
                state.now = ahead
                state.add(TestCatalogue.Event("us2", time: Self.now, updated: ahead))
            }
            let summary = try await database.sweep(through: server)
            #expect(summary.warning != nil && summary.failure == nil)
            #expect(try await Set(database.revised().keys) == ["us1", "us2"])
            #expect(try await database.cursor() == Self.now)
        }
    }

    // MARK: Concurrent sweeps

    @Test("If two workers sweep at the same time, one succeeds, and the other is refused")
    func atOnce() async throws {
        let isHeld = Atomic(true)
        let fault: @Sendable (TestRequest, TestFeedServer.Answer) -> TestFeedServer.Answer = { _, answer in
            .held(answer, until: { !isHeld.load(ordering: .relaxed) })
        }
        try await withCatalogue(fault: fault) { database, catalogue, server in
            catalogue.change { $0.add(event("us1")) }
            async let first = database.sweep(through: server)
            try await waitUntil { server.requests.count == 1 }
            await #expect(throws: SourceBusy.self) { try await database.sweep(through: server) }
            isHeld.store(false, ordering: .relaxed)
            #expect(try await first.failure == nil)
        }
    }
}
