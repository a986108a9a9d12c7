import Feed
import PostgreSQL

/// One sweep of an event service: all events that the service has revised or deleted since the last sweep, with any origin time.
///
/// The sweep states which events exist and which were deleted. The cursor is the time at which the last complete sweep began, by
/// the service's clock. A sweep that fails or is killed does not move the cursor, so the next sweep repeats it.
///
/// A service that does not support requests for revisions is swept by origin times: each sweep requests the last few days, and
/// one sweep a day requests a longer period. Only in such a sweep does a missing event count as deleted.
struct Sweep: Sendable {
    /// The name of the sweeps' documents in `import.settled`.
    static let feedName = "sweep"

    /// The service, without the abilities that it is known to lack.
    var service: EventService
    /// The abilities that requests used when the service returned events in earlier complete sweeps. `shown` has those of this
    /// sweep.
    let proven: Set<EventService.Ability>
    var shown: Set<EventService.Ability> = []
    /// Earlier sweeps have imported everything up to this time; nil before the first sweep, and if the cursor was unusable.
    private(set) var cursor: Instant?
    let beginning: Instant
    /// When the sweep began, by the clock of this machine.
    let started: Instant
    /// When the service made the oldest answer of this sweep, by its own clock; nil while this is unknown. One of its servers, or
    /// a cache, may lag behind the others.
    private var made: Instant?
    var deletions = StatedDeletions()
    /// When a complete sweep last asked for the longer period; nil if never.
    let lastLong: Instant?
    /// Whether the sweep may lack existing events. If so, it does not delete the events that it lacks. This is the case if an
    /// answer may have been cut off, or if the sweep was divided because it was too large for one answer: an event that moves
    /// from one part to another during the sweep may be in neither part.
    var isPartial = false
    /// Whether an answer had an event. If none had, perhaps the service is broken, and the sweep deletes nothing.
    var hasEvents = false

    /// How far a sweep reaches back before the cursor, in milliseconds: revisions become visible with a delay, and the clocks of
    /// the service's servers differ.
    static let overlap: Int64 = 600_000
    private static let firstLook = 31 * day

    /// - Parameter name: the service's name in `import.sweep`.
    init(
        of service: EventService, keptAs name: String, beginning: Instant?, at now: Instant,
        on connection: Connection
    ) async throws {
        let kept = try await connection.query(
            "select cursor, lacks, has, long_at from import.sweep where source = \(name)",
            to: "read the cursor"
        ).first
        cursor = try kept?.decodeIfPresent("cursor", as: Instant.self)
        lastLong = try kept?.decodeIfPresent("long_at", as: Instant.self)
        let lacks = try kept?.decode("lacks", as: [String].self) ?? []
        let has = try kept?.decode("has", as: [String].self) ?? []
        proven = Set(has.compactMap(EventService.Ability.init(rawValue:)))
        self.service = service
        self.service.abilities.subtract(lacks.compactMap(EventService.Ability.init(rawValue:)))
        started = now
        self.beginning = beginning ?? now - Self.firstLook
    }

    mutating func note(made answer: Instant?) {
        made = [made, answer].compactMap(\.self).min()
    }

    /// The time at which the sweep counts as made: the time of the service's oldest answer, or, if the service states no time, the
    /// sweep's start by this machine's clock.
    var moment: Instant { made ?? started }

    /// The sweep asks only for events revised after this time; nil if the service does not support that.
    var updatedAfter: Instant? {
        if isByWindow { return nil }
        return cursor.map { $0 - Self.overlap } ?? beginning
    }

    /// The plan and the requests for the whole sweep. Nearly all revised events are recent, so the newest windows come first, and
    /// a window with too many events is cut into at least 16 parts.
    func questions(ofDeletions: Bool, _ fetch: FetchOptions) -> (plan: BackfillPlan, windows: ServiceWindows)
    {
        // The service's clock may be wrong by years.
        let end = max(moment, started) + Self.day
        let plan = BackfillPlan(
            range: earliest..<end, isNewestFirst: true, limit: service.limit, reached: end, expected: 0,
            leastCut: 16)
        let windows = ServiceWindows(
            of: service, for: .sweep, proven: proven, pace: .seconds(1), fetch
        ) {
            [updatedAfter] window in
            var question = EventService.Question(
                since: window.lowerBound, until: window.upperBound == end ? nil : window.upperBound,
                updatedAfter: updatedAfter)
            question.isOfDeletions = ofDeletions
            return question
        }
        return (plan, windows)
    }

    var isByWindow: Bool { !service.abilities.contains(.updates) }

    /// Whether the sweep asks for the longer period. A sweep that asks for revisions does not. If the last such sweep is in the
    /// future, the clock was ahead then.
    var isLong: Bool { isByWindow && (lastLong.map { $0 > started || $0 + Self.day <= started } ?? true) }

    var earliest: Instant {
        guard isByWindow else { return EventService.Question.beginning }
        let window = started - Int64(isLong ? service.daysDaily : service.daysEach) * Self.day
        guard isLong || cursor == nil else { return window }
        // After a long pause, the cursor may be earlier than this window, so the window is extended.
        let last = cursor.map { $0 - Int64(service.daysEach) * Self.day }
        return min(window, last ?? beginning)
    }

    private static let day: Int64 = 86_400_000

    /// Whether the cursor is clearly ahead of the service's clock. If so, either the cursor or the clock is wrong, and has been
    /// wrong for an unknown time.
    var isCursorAhead: Bool { cursor.map { $0 > moment + Self.overlap / 2 } ?? false }

    mutating func startOver() {
        cursor = nil
        made = nil
        deletions = StatedDeletions()
    }

    var identity: FeedIdentity {
        let window = isByWindow && !isPartial && hasEvents && earliest < moment ? earliest...moment : nil
        return FeedIdentity(service: service.host, name: Self.feedName, generated: moment, window: window)
    }

    /// A part of the statement that records the end of the run: it moves the cursor, and stores which abilities the service
    /// lacks.
    func movingCursor(of name: String) -> Query {
        let lacks = EventService.Ability.allCases.filter { !service.abilities.contains($0) }.map(\.rawValue)
        let has = proven.union(shown).intersection(service.abilities).map(\.rawValue).sorted()
        return """
            swept as (
                insert into import.sweep (source, cursor, lacks, has, long_at)
                values (\(name), \(moment), \(lacks), \(has), \(isLong ? started : lastLong))
                on conflict (source) do update
                set cursor = excluded.cursor, lacks = excluded.lacks, has = excluded.has, long_at = excluded.long_at
            )
            """
    }
}
