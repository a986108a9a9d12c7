import Feed
import PostgreSQL

/// One sweep of an event service: everything that it has revised and deleted since the last one, with any origin time.
///
/// It states which events exist and which were deleted. The cursor is the service's own clock when a sweep began. It moves only
/// when that sweep is complete, so a sweep that fails, or is killed, is repeated.
///
/// A service that can't be asked for revisions is swept by origin times: the last days each time, and more of them once a day. Only
/// in such a sweep are missing events gone.
struct Sweep: Sendable {
    /// With the abilities that it has shown so far.
    var service: EventService
    /// Earlier sweeps have imported everything up to this time; nil before the first, and after an unusable cursor.
    private(set) var cursor: Instant?
    /// Where a sweep without a cursor begins.
    let beginning: Instant
    /// When it began, by the clock of this machine.
    let started: Instant
    /// When the service began to answer, by its own clock.
    var made: Instant?
    var deletions = StatedDeletions()
    /// When a complete sweep last asked for the longer time; nil if never.
    let lastLong: Instant?
    /// Whether it may lack existing events, so that its gaps delete nothing: it was too large for one answer, and an event that moves
    /// from one part to another meanwhile is in none of them; or an answer may have been cut off.
    var isPartial = false

    /// How far sweeps overlap. Revisions become visible a little later, and the clocks of the service's servers differ.
    static let overlap: Int64 = 600_000
    /// How far the first sweep looks back.
    private static let firstLook = 31 * day

    /// Continues from the service's row in `import.sweep`.
    ///
    /// - Parameter name: the service's name there.
    init(
        of service: EventService, keptAs name: String, beginning: Instant?, at now: Instant,
        on connection: Connection
    ) async throws {
        let kept = try await connection.query(
            "select cursor, lacks, long_at from import.sweep where source = \(name)", to: "read the cursor"
        ).first
        cursor = try kept?.decodeIfPresent("cursor", as: Instant.self)
        lastLong = try kept?.decodeIfPresent("long_at", as: Instant.self)
        let lacks = try kept?.decode("lacks", as: [String].self) ?? []
        self.service = service
        self.service.abilities.subtract(lacks.compactMap(EventService.Ability.init(rawValue:)))
        started = now
        self.beginning = beginning ?? Instant(milliseconds: now.milliseconds - Self.firstLook)
    }

    /// The moment of the statement. A service that does not say when it answered is believed to share this machine's time.
    var moment: Instant { made ?? started }

    /// Asks only for events revised after this; nil if the service does not support that.
    var updatedAfter: Instant? {
        if isByWindow { return nil }
        return cursor.map { Instant(milliseconds: $0.milliseconds - Self.overlap) } ?? beginning
    }

    /// The newest first: nearly all revised events are young.
    var plan: BackfillPlan {
        let end = Instant(milliseconds: moment.milliseconds + Self.day)
        return BackfillPlan(
            range: earliest..<end, isNewestFirst: true, limit: service.limit, reached: end, expected: 0)
    }

    func question(_ window: Range<Instant>, of plan: BackfillPlan) -> EventService.Question {
        EventService.Question(
            since: window.lowerBound,
            until: window.upperBound == plan.range.upperBound ? nil : window.upperBound,
            updatedAfter: updatedAfter)
    }

    // MARK: By origin times

    var isByWindow: Bool { !service.abilities.contains(.updates) }

    /// Whether the long window's turn has come.
    var isLong: Bool { lastLong.map { started.milliseconds - $0.milliseconds >= Self.day } ?? true }

    /// The earliest origin time that is asked for.
    var earliest: Instant {
        guard isByWindow else { return EventService.Question.beginning }
        let window = Instant(
            milliseconds: started.milliseconds - Int64(isLong ? service.days.daily : service.days.each)
                * Self.day)
        guard isLong || cursor == nil else { return window }
        // After a long stop, the cursor lies before the window.
        let last = cursor.map { Instant(milliseconds: $0.milliseconds - Int64(service.days.each) * Self.day) }
        return min(window, last ?? beginning)
    }

    private static let day: Int64 = 86_400_000

    /// Whether the service's clock now shows an earlier time than the cursor: one of the two was wrong, since an unknown
    /// time.
    var isCursorAhead: Bool {
        cursor.map { $0.milliseconds > moment.milliseconds + Self.overlap / 2 } ?? false
    }

    /// Continues as if it were the first.
    mutating func startOver() {
        cursor = nil
        made = nil
        deletions = StatedDeletions()
    }

    /// What the sweep says as a whole.
    var identity: FeedIdentity {
        let window = isByWindow && !isPartial && earliest < moment ? earliest...moment : nil
        return FeedIdentity(service: service.host, name: "sweep", generated: moment, window: window)
    }

    /// Moves the cursor, and keeps which abilities the service lacks: the part of a statement that goes with the end of the
    /// run.
    ///
    /// - Parameter name: the service's name in the database.
    func movingCursor(of name: String) -> Query {
        let lacks = EventService.Ability.allCases.filter { !service.abilities.contains($0) }.map(\.rawValue)
        return """
            swept as (
                insert into import.sweep (source, cursor, swept_at, lacks, long_at)
                values (\(name), \(moment), clock_timestamp(), \(lacks), \(isLong ? started : lastLong))
                on conflict (source) do update
                set cursor = excluded.cursor, swept_at = excluded.swept_at, lacks = excluded.lacks, long_at = excluded.long_at
            )
            """
    }
}
