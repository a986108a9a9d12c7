import Foundation
import TestSupport
import Testing

@Suite("quakes show")
struct ShowCommandTests {
    @Test("An event is shown with its properties, its mechanism and its history")
    func event() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([
                SmallFeed.feature("a", place: "12 km SSW of Ridgecrest, CA", magnitude: "4.26")
            ])
            try await database.query(
                """
                update quake set magnitude = 4.4, gap = 45.5, tsunami = true, sources = '{us,ci}', extra = '{"phases": 12,
                    "focal_mechanism": {"strike1": 48.2, "dip1": 46, "rake1": 89, "mw": 4.41, "scalar_moment": 5.6e15,
                                        "double_couple": 0.92, "agency": "GCMT", "mrr": 5e15}}'
                """)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let shown = try await quakes.run("show", "q0a")
            #expect(shown.status == 0 && shown.errors == "")
            let lines = shown.lines
            #expect(lines[0] == "12 km SSW of Ridgecrest, CA")
            for line in [
                "  code            q0a", "  magnitude       4.4", "  depth           30.0 km",
                "  latitude        20.0°", "  gap             45.5°", "  tsunami         yes",
                "  sources         us, ci", "  extra           {\"phases\":12}", "focal mechanism (GCMT)",
                "  plane 1         strike 48.2°, dip 46.0°, rake 89.0°",
                "  moment          Mw 4.41, 5.600e15 N m, double couple 92.0 %",
                "  tensor in N m   mrr 5.000e15", "changes",
            ] {
                #expect(lines.contains { $0 == line }, "\(line) in \(shown.output)")
            }
            #expect(lines.contains { $0.hasPrefix("  time            1970-01-01T00:00:01.000Z (") })
            #expect(lines.suffix(2).first?.hasSuffix("inserted M 4.3, 12 km SSW of Ridgecrest, CA") == true)
            #expect(lines.last?.contains("magnitude 4.26 → 4.4") == true)

            let json = try await quakes.run("show", "q0a", "--format", "json").output
            let object = try #require(
                JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
            #expect((object["event"] as? [String: Any])?["magnitude"] as? Double == 4.4)
            #expect((object["focal_mechanism"] as? [String: Any])?["agency"] as? String == "GCMT")
            #expect((object["changes"] as? [[String: Any]])?.count == 2)
        }
    }

    @Test("For a renamed event, the output has the present code, and says where the pruned history begins")
    func gone() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query("select history.prune('0')")
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            #expect(
                try await quakes.run("show", "q0b").output.contains(
                    "\nno changes are kept; history begins after token 1, "))
            _ = try await quakes.run("delete", "q0a", "--reason", "superseded by q0b")
            let lines = try await quakes.run("show", "q0a").lines
            #expect(lines[0] == "q0a has the code q0b now: quakes show q0b")
            #expect(lines.contains { $0.hasPrefix("changes; history begins after token 1, ") })
            #expect(lines.last?.hasSuffix("deleted M 1.5, somewhere (superseded by q0b)") == true)
            _ = try await quakes.run("delete", "q0b")
            #expect(
                try await quakes.run("show", "q0b").lines[0] == "q0b is not in the catalogue any more")
            let unknown = try await quakes.run("show", "q0nosuch")
            #expect(unknown.status == 66 && unknown.errors == "quakes: no such earthquake: q0nosuch\n")
        }
    }
}
