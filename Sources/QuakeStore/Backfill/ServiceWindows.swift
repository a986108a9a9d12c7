import Feed

/// Asks an event service about a stretch of origin times: window by window, each with fewer events than the service gives at
/// once, with a pause before each request.
///
/// It finds out on the way what the service does not support. A service that does not count may be asked for too much, and then for
/// less.
struct ServiceWindows {
    private(set) var service: EventService
    let purpose: UnfitService.Purpose
    var minimumMagnitude: Double?
    let pace: Duration
    let fetch: FetchOptions
    private(set) var requests = 0

    private func question(_ window: Range<Instant>) -> EventService.Question {
        var question = EventService.Question(since: window.lowerBound, until: window.upperBound)
        question.minimumMagnitude = minimumMagnitude
        return question
    }

    func queryURL(of window: Range<Instant>) -> String { service.queryURL(of: question(window)) }

    /// Waits before a request, and counts it.
    mutating func request() async throws {
        if requests > 0 { try await fetch.sleep(pace) }
        requests += 1
    }

    /// How many events there are; nil if the service does not count.
    mutating func count(_ window: Range<Instant>) async throws -> Int? {
        guard service.abilities.contains(.counts) else { return nil }
        try await request()
        do {
            return try await service.count(question(window), for: purpose, fetch)
        } catch let refusal as FeedError where service.isRefusal(refusal) {
            service.abilities.remove(.counts)
            return nil
        }
    }

    /// Finds out what a service that is not registered answers in.
    mutating func findForm() async throws {
        guard service.name == nil else { return }
        var found = service
        try await found.findForm(for: purpose, fetch) { try await request() }
        service = found
    }

    /// Goes through the rest of a plan.
    ///
    /// - Parameters:
    ///   - read: reads a window of which the service counts so many, if it counts, and gives so many at once; returns how many it
    ///     gave. `ShortAnswer` if these are fewer than it counts.
    ///   - took: called after each window that is done.
    /// - Throws: `ShortAnswer` when the service gives less than it counts even for the shortest window; `FeedError`, and what
    ///   the closures throw.
    mutating func walk(
        _ plan: inout BackfillPlan,
        read: (_ window: Range<Instant>, _ count: Int?, _ limit: Int, _ url: String) async throws -> Int,
        took: (_ window: Range<Instant>, _ given: Int, _ plan: BackfillPlan, _ requests: Int) async throws ->
            Void
    ) async throws {
        while let window = plan.next {
            let count = try await count(window)
            if let count, count > plan.limit, plan.hadTooMany(window, count: count) { continue }
            var given = 0
            do {
                if count != 0 {
                    try await request()
                    given = try await read(window, count, plan.limit, queryURL(of: window))
                }
            } catch let short as ShortAnswer {
                // If the service's count has dropped to that, some of them were just deleted.
                let isStillMore = try await self.count(window) ?? short.counted > short.given
                if plan.hadTooFew(window, isStillMore ? short : nil) { continue }
                throw short
            } catch let refusal as FeedError where [400, 413].contains(refusal.status) {
                // Too many events were asked for, or the request is wrong. If the service's own count is within the limit, or
                // this is not the standard's word for too many, it refused the window for another reason.
                let count = try await self.count(window)
                guard count.map({ $0 > plan.limit }) ?? (refusal.status == 413),
                    plan.hadTooMany(window, count: count)
                else { throw refusal }
                continue
            }
            if given >= plan.limit {
                if plan.hadTooMany(window, count: nil) { continue }
                try service.checkWhole(given, count, limit: plan.limit, for: purpose)
            }
            plan.took(window, events: given)
            try await took(window, given, plan, requests)
        }
    }
}

extension EventService {
    /// Asks how many events there are.
    ///
    /// - Throws: `UnfitService` if the answer is not a number; `FeedError`.
    func count(
        _ question: Question, for purpose: UnfitService.Purpose, _ fetch: FetchOptions
    ) async throws -> Int {
        guard let count = try await Self.count(at: countURL(of: question), options: fetch) else {
            throw UnfitService(self, "its answer to count is not a number", asFor: purpose)
        }
        return count
    }

    /// Asks for the last hour, each time with one ability less, until the service answers.
    ///
    /// - Parameter prepare: called before each request.
    /// - Returns: what it does not support.
    /// - Throws: `UnfitService` if it answers in no form that is read; `FeedError`, and what `prepare` throws.
    @discardableResult
    mutating func findForm(
        for purpose: UnfitService.Purpose, _ fetch: FetchOptions, prepare: () async throws -> Void = {}
    ) async throws -> [Ability] {
        var lacking: [Ability] = []
        let now = Instant.now
        let hour = Question(since: Instant(milliseconds: now.milliseconds - 3_600_000), until: now)
        while true {
            try await prepare()
            guard let refusal = try await refusal(of: hour, fetch) else { return lacking }
            guard let ability = [.geojson, .limits].first(where: abilities.contains) else {
                throw UnfitService(self, "its answer to query is \(refusal)", asFor: purpose)
            }
            abilities.remove(ability)
            lacking.append(ability)
        }
    }

    /// Checks the answer for a single millisecond that has as many events as the service gives at once.
    ///
    /// - Parameter count: how many the service counts there, if it counts.
    /// - Throws: `UnfitService` if there may be more: no catalogue has so many.
    func checkWhole(_ given: Int, _ count: Int?, limit: Int, for purpose: UnfitService.Purpose) throws {
        if let count, count <= limit { return }
        throw UnfitService(self, "it gives \(given) events of one millisecond", asFor: purpose)
    }

    /// The error by which it refuses an unsupported question; nil if it answers.
    ///
    /// - Throws: `FeedError`.
    func refusal(of question: Question, _ fetch: FetchOptions) async throws -> FeedError? {
        do {
            _ = try await FeedSource.url(queryURL(of: question)).beginning(1, options: fetch)
            return nil
        } catch let failure as FeedError {
            // With 204 it has nothing there, and knows the form.
            if failure.status == 204 { return nil }
            guard isRefusal(failure) else { throw failure }
            return failure
        }
    }

    /// Whether an answer says that the question is not supported. For a service that is known to support everything, a refusal is a
    /// failure.
    func isRefusal(_ error: any Error) -> Bool {
        guard !isComplete else { return false }
        return switch error {
        case FeedError.noInput: true
        case let error as FeedError: [400, 405, 406, 415, 501].contains(error.status)
        default: false
        }
    }
}
