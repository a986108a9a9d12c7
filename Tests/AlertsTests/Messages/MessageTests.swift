import Foundation
import Testing

@testable import Alerts

@Suite("Alerts: messages") struct MessageTests {
    private let near = rule("home quakes", .init(4, within: 200))

    private func stage() -> Stage {
        var stage = Stage(near)
        stage.rules.zone = TimeZone(identifier: "Asia/Tokyo")!
        return stage
    }

    private func described(_ change: (inout AlertEvent) -> Void = { _ in }) -> AlertEvent {
        quake("us7000abcd", 5.23) {
            $0.place = "12 km SSW of Mito, Japan"
            $0.magnitudeType = "mww"
            $0.status = "automatic"
            $0.url = "https://earthquake.usgs.gov/earthquakes/eventpage/us7000abcd"
            change(&$0)
        }
    }

    @Test func aMessageSaysWhatWhereWhenHowFarHowStrongAndWhy() throws {
        var stage = stage()
        let message = try #require(stage.commit(described()).first)
        #expect(message.title == "M 5.2 earthquake 111 km N of home")
        #expect(
            message.text == """
                Earthquake of magnitude 5.2 (mww), 12 km SSW of Mito, Japan.
                2026-11-26 21:00:00 UTC+9 (12:00:00 UTC), 10 km deep.
                111 km N of home. Weak shaking possible there (MMI about 3).
                It was located automatically. No person has reviewed it yet.
                Sent because rule home quakes asks for M 4 or more within 200 km of home.
                https://earthquake.usgs.gov/earthquakes/eventpage/us7000abcd
                """)
        #expect(message.url == "https://earthquake.usgs.gov/earthquakes/eventpage/us7000abcd")
        #expect(message.priority == 3)
    }

    @Test(arguments: ["javascript:alert(1)", "https://ok.example/\r\n\r\nEVACUATE", "file:///etc/passwd"])
    func aURLThatIsNotThatOfAPageIsLeftOut(url: String) throws {
        var stage = stage()
        let message = try #require(stage.commit(described { $0.url = url }).first)
        #expect(message.url == nil)
        #expect(message.text.hasSuffix("within 200 km of home."), "\(message.text)")
    }

    @Test func eachKindHasItsOwnText() throws {
        var stage = stage()
        _ = stage.commit(described())
        let corrected = try #require(
            stage.commit(described { ($0.magnitude, $0.status, $0.latitude) = (5.8, "reviewed", 36.5) }).first
        )
        #expect(corrected.title == "Corrected: M 5.8 earthquake 90 km N of home, was M 5.2")
        #expect(
            corrected.text.hasPrefix(
                "Now magnitude 5.8 (mww), reported before as 5.2: 12 km SSW of Mito, Japan, 21 km from where it was.\n"
            ))
        #expect(corrected.text.contains("\nA person has reviewed it.\n"))
        let smaller = try #require(stage.commit(described { $0.magnitude = 3.9 }).first)
        #expect(smaller.title == "No longer: M 3.9 earthquake 111 km N of home, was M 5.8")
        #expect(smaller.text.contains("It no longer matches your rule."))
        #expect(
            smaller.text.contains(
                "You got the first message because rule home quakes asks for M 4 or more within 200 km of home."
            ))
        let risen = try #require(stage.commit(described { $0.magnitude = 6.6 }).first)
        #expect(risen.title == "M 6.6 earthquake 111 km N of home, was M 3.9")
        #expect(risen.priority == 4)
        let withdrawn = try #require(stage.commit(deleted: ["us7000abcd"]).first)
        #expect(withdrawn.title == "Withdrawn: M 6.6 earthquake 111 km N of home")
        #expect(withdrawn.text.contains("It was removed from the catalogue."))
        #expect(!withdrawn.text.contains("shaking"))
    }

    @Test func aMessageSaysThatAnEarthquakeIsNowMarkedAsAnExercise() throws {
        var stage = stage()
        _ = stage.commit(described())
        let message = try #require(stage.commit(described { $0.type = "scenario" }).first)
        #expect(
            message.text.hasPrefix(
                "The scenario of magnitude 5.2 (mww), 12 km SSW of Mito, Japan, is now marked as a test or an exercise.\n"
            ))
    }

    @Test func withoutANearbyPlaceTheAgencysPlaceIsShown() throws {
        var stage = Stage(rule("world", .init(4)) { $0.places = [] })
        #expect(stage.commit(described()).first?.title == "M 5.2 earthquake, 12 km SSW of Mito, Japan")
        #expect(
            stage.commit(quake("us2") { $0.place = nil }).first?.title
                == "M 5.0 earthquake, at 36.69°, 139.75°")
        let message = try #require(stage.commit(quake("us3") { $0.depth = nil }).first)
        #expect(message.text.contains("\n2026-11-26 12:00:00 UTC.\n"))
    }

    @Test func strongShakingIsUrgent() {
        var stage = Stage(near)
        #expect(stage.commit(quake("us1", 6.5, north: 0)).first?.priority == 5)
        #expect(stage.commit(deleted: ["us1"]).first?.priority == 3)
    }

    @Test func aFeedCannotAddLinesToAMessage() throws {
        var stage = Stage(rule("world", .init(4)) { $0.places = [] })
        let event = quake {
            $0.place = "Reno\r\nBcc: all@example.org\u{2028}\u{7}"
            $0.magnitudeType = "mw\n"
            $0.type = "earth\nquake"
        }
        let message = try #require(stage.commit(event).first)
        #expect(message.title == "M 5.0 earth quake, Reno  Bcc: all@example.org")
        #expect(
            message.text.split(separator: "\n").first
                == "Earth quake of magnitude 5.0 (mw), Reno  Bcc: all@example.org.")
    }

    @Test func anIdHasOnlyCharactersThatHeadersAllow() {
        var stage = Stage(near)
        let told = stage.commit(quake("smi:ch.ethz/Ünï code"))
        #expect(told.first?.id == "me:smi:ch%2Eethz%2F%C3%9Cn%C3%AF%20code:1-new")
    }

    @Test func aMessageIsEncodedAsJSONForPrograms() throws {
        var stage = stage()
        let message = try #require(stage.commit(described()).first)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        let json = try #require(
            try JSONSerialization.jsonObject(with: encoder.encode(message)) as? [String: Any])
        #expect(json["type"] as? String == "earthquake.new")
        #expect(json["at"] as? String == "2026-11-26T12:00:01.000Z")
        let report = try #require((json["earthquakes"] as? [[String: Any]])?.first)
        #expect(report["earthquake"] as? String == "us7000abcd")
        #expect(report["magnitude"] as? Double == 5.23)
        #expect(report["magnitude_type"] as? String == "mww")
        #expect(report["time"] as? String == "2026-11-26T12:00:00.000Z")
        #expect(report["is_reviewed"] as? Bool == false)
        let place = try #require((report["near"] as? [[String: Any]])?.first)
        #expect(place["km"] as? Int == 111)
        #expect(place["intensity"] as? Int == 3)
        #expect(try JSONDecoder().decode(Message.self, from: encoder.encode(message)) == message)
    }

    @Test func aDigestListsTheLargestFirstAndFitsIntoAMail() throws {
        var stage = Stage(rule("world", .init(4)))
        let many = (0..<400).map { index in
            quake("q\(index)", 4 + Double(index) / 500) { $0.place = String(repeating: "Ō", count: 200) }
        }
        _ = stage.commit(after: .seconds(1), many)
        let digest = try #require(stage.tick(.seconds(300)).first)
        #expect(digest.title == "395 earthquakes, the largest M 4.8 111 km N of home")
        #expect(digest.text.split(separator: "\n").count == 22)
        #expect(digest.text.contains("And 375 more."))
        #expect(try JSONEncoder().encode(digest).count < 64 << 10)
    }
}
