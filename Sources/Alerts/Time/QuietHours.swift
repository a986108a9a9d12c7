import Feed

/// A part of each day in which a rule tells nothing, such as from 22:00 to 07:00.
///
/// It begins and ends when a clock in the zone first shows the time. Where the clock is put forward over one of the two, it is
/// the moment of the change; where a time comes twice, it is the first. So a night is an hour shorter or longer twice a
/// year, and no night begins or ends twice.
public struct QuietHours: Sendable, Equatable {
    /// What becomes of news within the quiet hours.
    public enum Action: String, Sendable, CaseIterable {
        /// It is told when they end.
        case `defer`
        /// It is never told. When they end, what was told before is still corrected and withdrawn.
        case drop
    }

    /// In minutes after midnight.
    public let from: Int
    /// In minutes after midnight; up to 1440. If it is not later than `from`, it is on the next day.
    public let to: Int
    public let zone: Zone
    public let action: Action

    public init(from: Int, to: Int, zone: Zone, action: Action) {
        (self.from, self.to, self.zone, self.action) = (from, to, zone, action)
    }

    /// When the quiet hours end that hold at this moment; nil if none do.
    public func end(at moment: Instant) -> Instant? {
        let now = zone.civilTime(at: moment)
        let today = CivilDate(unchecked: now.year, now.month, now.day).daysSince1970
        for day in today - 1...today + 1 {
            let start = zone.moment(day: day, minute: from)
            let end = zone.moment(day: from < to ? day : day + 1, minute: to)
            if start <= moment, moment < end { return end }
        }
        return nil
    }
}
