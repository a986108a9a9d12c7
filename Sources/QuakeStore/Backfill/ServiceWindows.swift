import Feed

/// Requests a stretch of origin times from an event service: window by window, each with fewer events than the service gives at
/// once.
///
/// It finds out by trial which abilities the service lacks. If a service does not count, a request may be for too many events;
/// then the next request is for a shorter window.
struct ServiceWindows {
    var service: EventService
    let purpose: UnfitService.Purpose
    /// The abilities that the service had in an earlier sweep. If the service refuses a request that needs only these, that is a
    /// failure, and does not show that an ability is missing.
    let proven: Set<EventService.Ability>
    /// The pause between two requests. A sweep pauses only between two windows, so that news is not delayed.
    let pace: Duration
    let fetch: FetchOptions
    /// Returns the request for a window.
    let question: @Sendable (Range<Instant>) -> EventService.Question
    private(set) var requests = 0
    /// The abilities that the answers so far have shown.
    private(set) var shown: Set<EventService.Ability> = []

    init(
        of service: EventService, for purpose: UnfitService.Purpose, proven: Set<EventService.Ability> = [],
        pace: Duration,
        _ fetch: FetchOptions,
        question: @escaping @Sendable (Range<Instant>) -> EventService.Question = {
            EventService.Question(since: $0.lowerBound, until: $0.upperBound)
        }
    ) {
        (self.service, self.purpose, self.proven) = (service, purpose, proven)
        (self.pace, self.fetch) = (pace, fetch)
        self.question = question
    }

    /// How many events an answer has, and how many it says that it has.
    typealias Given = (events: Int, counted: Int?)

    /// Requests the remaining windows of a plan, one after the other.
    ///
    /// - Parameters:
    ///   - read: reads a window and returns how many events the service gave, deletions included, and how many the answer itself
    ///     counts, if it does. `count` is the number of events in the window, nil if the service does not count; `limit` is the
    ///     number of events that the service returns at once.
    ///   - took: called after each window that is done. `count` is that of the window; a window of 0 events is not read.
    /// - Throws: `ShortAnswer` when the service gives fewer events than it counts even for smaller windows; `UnfitService`;
    ///   `AnotherQuestion`; `FeedError`; any error of the closures.
    mutating func walk(
        _ plan: inout BackfillPlan,
        read: (_ window: Range<Instant>, _ count: Int?, _ limit: Int, _ url: String) async throws -> Given,
        took: (
            _ window: Range<Instant>, _ count: Int?, _ given: Int, _ plan: BackfillPlan, _ requests: Int
        ) async throws -> Void
    ) async throws {
        while let window = plan.next {
            if purpose == .sweep { try await pause() }
            let question = question(window)
            let count = try await count(question)
            if let count, count > plan.limit, plan.hadTooMany(window, count: count) { continue }
            var given = 0
            do {
                if count != 0 {
                    try await request()
                    let answer = try await read(window, count, plan.limit, service.queryURL(of: question))
                    given = answer.events
                    let counted = max(count ?? 0, answer.counted ?? 0)
                    guard given >= counted else {
                        throw ShortAnswer(window: window, given: given, counted: counted, asFor: purpose)
                    }
                    // An empty answer may come from a service that has not looked at the parameters.
                    if given > 0 { shown.formUnion(abilities(toQuery: question)) }
                }
            } catch let short as ShortAnswer {
                // If the service now counts no more events than it gave, some events have just been deleted. In that case a sweep
                // has already imported all remaining events. For any other purpose, the import of the window has failed and is
                // repeated.
                let isStillMore = try await self.count(question) ?? short.counted > short.given
                if isStillMore || short.asFor != .sweep {
                    if plan.hadTooFew(window, isStillMore ? short : nil) { continue }
                    throw short
                }
                given = short.given
            } catch let refusal as FeedError
                where [400, 413].contains(refusal.status)
                || isRefusal(refusal, of: abilities(toQuery: question))
            {
                if try await isTooMuch(question, refusal, &plan, window) { continue }
                guard isRefusal(refusal, of: abilities(toQuery: question)),
                    try await findLack(after: question)
                else { throw refusal }
                if question.updatedAfter != nil || question.isOfDeletions { throw AnotherQuestion() }
                continue
            }
            if given >= plan.limit {
                if plan.hadTooMany(window, count: nil) { continue }
                // A catalogue can't have so many events in one millisecond.
                guard let count, count <= plan.limit else {
                    throw UnfitService(service, "it gives \(given) events in one millisecond", asFor: purpose)
                }
            }
            plan.took(window, events: given)
            try await took(window, count, given, plan, requests)
        }
    }

    /// Whether the service refused because the request was for too many events, and the window can be cut. A request is for too
    /// many events if the service counts more than its limit, or if it answers with status 413, the FDSN standard's status for
    /// too many events.
    private mutating func isTooMuch(
        _ question: EventService.Question, _ refusal: FeedError, _ plan: inout BackfillPlan,
        _ window: Range<Instant>
    ) async throws -> Bool {
        guard [400, 413].contains(refusal.status) else { return false }
        let count = try await count(question)
        return (refusal.status == 413 || count ?? 0 > plan.limit) && plan.hadTooMany(window, count: count)
    }

    // MARK: Requests

    private func pause() async throws {
        if requests > 0 { try await fetch.sleep(pace) }
    }

    private mutating func request() async throws {
        if purpose != .sweep { try await pause() }
        requests += 1
    }

    /// How many events a window has; nil if the service does not count.
    mutating func count(_ window: Range<Instant>) async throws -> Int? { try await count(question(window)) }

    private mutating func count(_ question: EventService.Question) async throws -> Int? {
        guard service.abilities.contains(.counts), !question.isOfDeletions else { return nil }
        do {
            return try await number(question)
        } catch let refusal as FeedError where isRefusal(refusal, of: abilities(toCount: question)) {
            // Perhaps the service only refuses to count by the time of revision.
            var everything = question
            everything.updatedAfter = nil
            do {
                _ = try await number(everything)
            } catch let refusal as FeedError where isRefusal(refusal, of: [.counts]) {
                service.abilities.remove(.counts)
                return nil
            }
            guard question.updatedAfter != nil, try await self.refusal(of: question) != nil else {
                throw refusal
            }
            service.abilities.remove(.updates)
            throw AnotherQuestion()
        }
    }

    private mutating func number(_ question: EventService.Question) async throws -> Int {
        try await request()
        guard let count = try await service.count(of: question, options: fetch) else {
            throw UnfitService(service, "its answer to count is not a number", asFor: purpose)
        }
        shown.formUnion(abilities(toCount: question))
        return count
    }

    // MARK: Abilities

    private func abilities(toQuery question: EventService.Question) -> Set<EventService.Ability> {
        var needed: Set<EventService.Ability> = [.geojson, .limits]
        if question.updatedAfter != nil { needed.insert(.updates) }
        if question.isOfDeletions { needed.insert(.deletions) }
        return needed.intersection(service.abilities)
    }

    private func abilities(toCount question: EventService.Question) -> Set<EventService.Ability> {
        question.updatedAfter == nil ? [.counts] : [.counts, .updates]
    }

    /// Finds out which ability is missing after the service has refused a request. It repeats the request without `limit`,
    /// because a service may only refuse so high a limit, and then requests the last hour with fewer and fewer abilities, until
    /// the service answers.
    ///
    /// - Returns: false if no ability was found to be missing.
    /// - Throws: `UnfitService` if the service does not answer in any format that can be read; `FeedError`.
    private mutating func findLack(after question: EventService.Question) async throws -> Bool {
        guard try await refusal(of: question) != nil else { return false }
        let before = service.abilities
        service.abilities.remove(.limits)
        if service.abilities != before, try await refusal(of: question) == nil { return true }
        service.abilities = before
        if question.isOfDeletions {
            service.abilities.remove(.deletions)
            return true
        }
        let now = Instant.now
        let hour = EventService.Question(since: now - 3_600_000, until: now)
        let fewer: [Set<EventService.Ability>] = [[], [.limits], [.geojson], [.geojson, .limits]]
        for lost in fewer where lost.isSubset(of: before) {
            service.abilities = before.subtracting(lost)
            guard try await refusal(of: hour) == nil else { continue }
            if lost.isEmpty, question.updatedAfter == nil { return false }
            // The service answers only simpler requests, so later requests do not select by the time of revision.
            service.abilities.remove(.updates)
            return true
        }
        let refusal = try await refusal(of: hour).map { "\($0)" } ?? "it has just answered"
        throw UnfitService(service, "its answer to query is unusable: \(refusal)", asFor: purpose)
    }

    /// The error with which the service refuses an unsupported request; nil if it answers.
    private mutating func refusal(of question: EventService.Question) async throws -> FeedError? {
        try await request()
        do {
            _ = try await FeedSource.url(service.queryURL(of: question)).beginning(1, options: fetch)
            return nil
        } catch let failure as FeedError {
            // With status 204, the service has no such events, and with 413 too many, but it supports the request.
            if [204, 413].contains(failure.status) { return nil }
            guard isRefusal(failure, of: abilities(toQuery: question)) else { throw failure }
            return failure
        }
    }

    /// Whether an answer says that the request is not supported. If the service is known to have the abilities that the request
    /// needs, a refusal is a failure: for example, a proxy that has lost its service also answers with 404 or 410.
    private func isRefusal(_ error: FeedError, of needed: Set<EventService.Ability>) -> Bool {
        if service.isComplete || !needed.isEmpty && needed.isSubset(of: proven) { return false }
        if case .noInput = error { return true }
        return [400, 405, 406, 415, 501].contains(error.status)
    }
}

/// The service has refused a request, and is now known to lack an ability: the stretch has to be requested in another way.
struct AnotherQuestion: Error {}
