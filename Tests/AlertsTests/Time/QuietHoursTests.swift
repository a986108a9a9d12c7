import Feed
import Foundation
import Testing

@testable import Alerts

@Suite("Alerts: quiet hours") struct QuietHoursTests {
    private func quiet(_ from: String, _ to: String, _ zone: String) throws -> QuietHours {
        func minutes(_ text: String) -> Int { Int(text.prefix(2))! * 60 + Int(text.suffix(2))! }
        let zone = try #require(TimeZone(identifier: zone))
        return QuietHours(from: minutes(from), to: minutes(to), zone: zone, action: .defer)
    }

    @Test(arguments: [
        ("2026-11-26T12:59:59Z", nil), ("2026-11-26T13:00:00Z", "2026-11-26T22:00:00Z"),
        ("2026-11-26T21:59:59Z", "2026-11-26T22:00:00Z"), ("2026-11-26T22:00:00Z", nil),
    ])
    func quietHoursMayIncludeMidnight(moment: String, end: String?) throws {
        #expect(try quiet("22:00", "07:00", "Asia/Tokyo").end(at: at(moment)) == end.map(at))
    }

    @Test(arguments: [
        ("2026-11-26T11:59:59Z", nil), ("2026-11-26T12:00:00Z", "2026-11-26T13:30:00Z"),
        ("2026-11-26T13:30:00Z", nil),
    ])
    func quietHoursMayBeWithinOneDay(moment: String, end: String?) throws {
        #expect(try quiet("12:00", "13:30", "UTC").end(at: at(moment)) == end.map(at))
    }

    /// On 29 March 2026, Berlin's clocks go from 02:00 to 03:00 at 01:00 UTC.
    @Test func theNightOfTheSpringChangeIsAnHourShorter() throws {
        let night = try quiet("22:00", "07:00", "Europe/Berlin")
        #expect(night.end(at: at("2026-03-28T21:00:00Z")) == at("2026-03-29T05:00:00Z"))
    }

    @Test func anEndThatTheClockSkipsBecomesTheMomentOfTheChange() throws {
        let night = try quiet("22:00", "02:30", "Europe/Berlin")
        #expect(night.end(at: at("2026-03-29T00:00:00Z")) == at("2026-03-29T01:00:00Z"))
        #expect(night.end(at: at("2026-03-29T01:00:00Z")) == nil)
        #expect(night.end(at: at("2026-03-29T20:00:00Z")) == at("2026-03-30T00:30:00Z"))
    }

    @Test func aBeginningThatTheClockSkipsBecomesTheMomentOfTheChange() throws {
        let night = try quiet("02:30", "07:00", "Europe/Berlin")
        #expect(night.end(at: at("2026-03-29T00:59:59Z")) == nil)
        #expect(night.end(at: at("2026-03-29T01:00:00Z")) == at("2026-03-29T05:00:00Z"))
    }

    /// On 25 October 2026, Berlin's clocks go from 03:00 back to 02:00 at 01:00 UTC.
    @Test func anEndThatTheClockShowsTwiceEndsTheNightOnce() throws {
        let night = try quiet("22:00", "02:30", "Europe/Berlin")
        #expect(night.end(at: at("2026-10-25T00:29:59Z")) == at("2026-10-25T00:30:00Z"))
        for second in ["2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:29:00Z"] {
            #expect(night.end(at: at(second)) == nil)
        }
        let long = try quiet("22:00", "07:00", "Europe/Berlin")
        #expect(long.end(at: at("2026-10-24T20:00:00Z")) == at("2026-10-25T06:00:00Z"))
    }

    /// Samoa had no 30 December 2011: after the 29th came the 31st.
    @Test func aNightOverADayThatDoesNotExistEndsInTheMorning() throws {
        let night = try quiet("22:00", "07:00", "Pacific/Apia")
        #expect(night.end(at: at("2011-12-30T09:00:00Z")) == at("2011-12-30T10:00:00Z"))
        #expect(night.end(at: at("2011-12-30T10:00:00Z")) == at("2011-12-30T17:00:00Z"))
        #expect(night.end(at: at("2011-12-30T18:00:00Z")) == nil)
        #expect(night.end(at: at("2011-12-31T09:00:00Z")) == at("2011-12-31T17:00:00Z"))
    }

    /// Checks every five minutes that quiet hours begin when the clock shows `from`, and end when it shows `to`.
    @Test func quietHoursFollowTheirDefinitionOverAYear() throws {
        for (zone, from, to) in [
            ("Europe/Berlin", "22:00", "07:00"), ("Australia/Lord_Howe", "23:15", "06:45"),
            ("Africa/Casablanca", "13:00", "14:00"),
        ] {
            let quiet = try quiet(from, to, zone)
            var isQuiet = quiet.end(at: at("2026-01-01T00:00:00Z")) != nil
            var wrong: [Instant] = []
            for minute in stride(from: 5, to: 365 * 1440, by: 5) {
                let moment = at("2026-01-01T00:00:00Z") + .seconds(minute * 60)
                let local = quiet.zone.localTime(at: moment).milliseconds
                let shown = Int(local.divided(by: 86_400_000).rest / 60_000)
                if shown == quiet.from { isQuiet = true }
                if shown == quiet.to { isQuiet = false }
                let end = quiet.end(at: moment)
                let isSensible = end.map { $0 > moment && $0 - moment < .seconds(86_400) } ?? true
                if (end != nil) != isQuiet || !isSensible { wrong.append(moment) }
            }
            #expect(wrong.isEmpty, "\(zone)")
        }
    }
}
