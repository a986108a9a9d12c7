import Feed
import Foundation
import Testing

@testable import Alerts

/// Runs the cases in `Cases/alerts.json`, which apply to `quakes notify` and to the page's alerts.
@Suite("Alerts: the table of cases") struct TableTests {
    private static let table = Result {
        let path = URL(filePath: #filePath).appending(path: "../../Cases/alerts.json").standardized
        return try JSONDecoder().decode(Table.self, from: Data(contentsOf: path))
    }

    static var cases: [Case] { (try? table.get().cases) ?? [] }

    @Test func theTableHasCases() throws {
        #expect(try Self.table.get().cases.count >= 20)
    }

    @Test(arguments: cases) func theReportsAreThoseOfTheTable(each: Case) throws {
        let table = try Self.table.get()
        var stage = Stage(
            rule("page", .init(table.wish.magnitude, within: table.wish.radius)) {
                $0.places = [
                    Rule.Place("here", Point(latitude: table.wish.latitude, longitude: table.wish.longitude))
                ]
                $0.maxAge = .seconds(86_400)
            })
        var events: [ExactText: AlertEvent] = [:]
        for (pass, expected) in zip(each.passes, each.expected) {
            stage.now = stage.now + .seconds(60)
            var changes: [EventChange] = []
            for (text, outcome) in pass.commits.flatMap({ $0.sorted { $0.key < $1.key } }) {
                let code = ExactText(text)
                var change = EventChange(before: events[code], after: nil, committedAt: stage.now)
                switch outcome {
                case .deleted: break
                case .supersededBy(let other): change.supersededBy = other
                case .row(let row): change.after = row.event(code, at: stage.now, usual: table.row)
                }
                events[code] = change.after
                changes.append(change)
            }
            let told = stage.rules.decide(changes, &stage.ledger, now: stage.now).flatMap(\.earthquakes)
            #expect(Dictionary(uniqueKeysWithValues: told.map { ($0.code, $0.kind.rawValue) }) == expected)
            #expect(told.map(\.magnitude!) == told.map(\.magnitude!).sorted(by: >))
        }
    }

    struct Table: Decodable, Sendable {
        let wish: Wish
        let row: Row
        let cases: [Case]
    }

    struct Wish: Decodable, Sendable {
        let magnitude: Double
        let latitude: Double
        let longitude: Double
        let radius: Double
    }

    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let passes: [Pass]
        let expected: [[String: String]]

        var testDescription: String { name }
    }

    /// One commit, or a list of commits that the rules decide on together.
    struct Pass: Decodable, Sendable {
        let commits: [[String: Outcome]]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            commits =
                try (try? container.decode([[String: Outcome]].self))
                ?? [container.decode([String: Outcome].self)]
        }
    }

    /// The change of a row in a commit.
    enum Outcome: Decodable, Sendable {
        case deleted
        case supersededBy(ExactText)
        case row(Row)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .deleted
            } else if let code = try? container.decode(ExactText.self) {
                self = .supersededBy(code)
            } else {
                self = .row(try container.decode(Row.self))
            }
        }
    }

    /// The values that a case gives; other values come from the table's usual row.
    struct Row: Decodable, Sendable {
        let magnitude: Double??
        let latitude: Double?
        let longitude: Double?
        let minutes: Double?
        let ids: [ExactText]?
        let type: String?
        let status: String?

        private enum CodingKeys: CodingKey { case magnitude, latitude, longitude, minutes, ids, type, status }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            // A null sets the magnitude to null; a missing key leaves the usual one.
            magnitude =
                container.contains(.magnitude)
                ? .some(try container.decodeIfPresent(Double.self, forKey: .magnitude)) : nil
            latitude = try container.decodeIfPresent(Double.self, forKey: .latitude)
            longitude = try container.decodeIfPresent(Double.self, forKey: .longitude)
            minutes = try container.decodeIfPresent(Double.self, forKey: .minutes)
            ids = try container.decodeIfPresent([ExactText].self, forKey: .ids)
            type = try container.decodeIfPresent(String.self, forKey: .type)
            status = try container.decodeIfPresent(String.self, forKey: .status)
        }

        func event(_ code: ExactText, at now: Instant, usual: Row) -> AlertEvent {
            let minutes = minutes ?? usual.minutes ?? 0
            var event = AlertEvent(
                code: code, magnitude: magnitude ?? usual.magnitude ?? nil,
                time: now - .seconds(minutes * 60),
                latitude: latitude ?? usual.latitude ?? 0, longitude: longitude ?? usual.longitude ?? 0)
            event.ids = ids ?? []
            event.type = type ?? usual.type
            event.status = status ?? usual.status
            return event
        }
    }
}
