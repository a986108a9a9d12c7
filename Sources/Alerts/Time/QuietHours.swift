import Feed
import Foundation

/// A part of each day in which a rule sends no messages, such as from 22:00 to 07:00.
///
/// Quiet hours begin and end when a clock in the zone first shows the given time. If clocks are put forward past that time, the
/// quiet hours begin or end at the moment of the change. If the time occurs twice, they begin or end at the first occurrence. So
/// two nights a year are an hour shorter or longer, but no night begins or ends twice.
public struct QuietHours: Sendable, Equatable {
    /// What happens during quiet hours to a message that does not correct an earlier one (`Kind.isNews`).
    public enum Action: String, Sendable, CaseIterable {
        /// The message is sent when the quiet hours end.
        case `defer`
        /// The message is dropped. Corrections and withdrawals of earlier messages are still sent when the quiet hours end.
        case drop
    }

    /// In minutes after midnight.
    public let from: Int
    /// In minutes after midnight; up to 1440. If it is not later than `from`, it is on the next day.
    public let to: Int
    public let zone: TimeZone
    public let action: Action

    public init(from: Int, to: Int, zone: TimeZone, action: Action) {
        (self.from, self.to, self.zone, self.action) = (from, to, zone, action)
    }

    /// When the quiet hours around `moment` end; nil if `moment` is not within quiet hours.
    public func end(at moment: Instant) -> Instant? {
        let today = zone.localTime(at: moment).milliseconds.divided(by: 86_400_000).whole
        for day in today - 1...today + 1 {
            let start = zone.moment(day: day, minute: from)
            let end = zone.moment(day: from < to ? day : day + 1, minute: to)
            if start <= moment, moment < end { return end }
        }
        return nil
    }
}
