import Feed
import TestSupport
import Testing

@testable import Association

@Suite("Parameters")
struct ParameterTests {
    @Test("The shipped file has the same values as the program's defaults")
    func shipped() throws {
        let parameters = Parameters.shipped
        #expect(try Parameters(onlyText: "version 1").doubtful == parameters.doubtful)
        #expect(try Parameters(text: "version 1") == parameters)
        #expect(parameters.scatter.rows["*"]?.count == 4)
        #expect(parameters.network(ofAuthor: "NEIC") == "us")
        #expect(parameters.network(ofAuthor: "INGV") == "ingv")
    }

    @Test("What a file leaves out has its shipped value; lines may end as on Windows")
    func partial() throws {
        let some = try Parameters(
            text: "version 2\r\n\r\nrank gfz us\r\nseconds 5\r\nscatter gfz - 1 2 0.1 0\r\n")
        var expected = Parameters.shipped
        (expected.version, expected.seconds, expected.ranks) = ("2", 5, ["gfz": 0, "us": 1])
        expected.scatter.rows["gfz"] = [
            .init(magnitude: -.infinity, scatter: .init(seconds: 1, kilometres: 2, magnitudes: 0.1), pairs: 0)
        ]
        #expect(some == expected)
        #expect(try Parameters(text: Parameters.shippedText.replacing("\n", with: "\r\n")) == .shipped)
    }

    /// Otherwise, an older and a newer version that run at the same time would group all rows again and again.
    @Test("If the shipped parameters change, the rules get a new version")
    func version() {
        let known = [2: 451_072_392]
        let hash = Parameters.shippedText.utf8.reduce(0) { ($0 * 31 + Int($1)) % 1_000_000_007 }
        #expect(known == [Association.rules: hash], "change the number only together with Association.rules")
    }

    @Test("A printed table of scatter is read back unchanged")
    func printed() throws {
        var parameters = Parameters.shipped
        parameters.scatter.rows["emsc"] = [
            .init(
                magnitude: -.infinity, scatter: .init(seconds: 1.234, kilometres: 10.5, magnitudes: 0.25),
                pairs: 40),
            .init(magnitude: 4.5, scatter: .init(seconds: 1, kilometres: 8, magnitudes: 0.2), pairs: 31),
        ]
        let read = try Parameters(text: "version 2\n\(parameters.scatter)\n")
        #expect(read.scatter == parameters.scatter)
    }

    @Test(
        "An error names the line that cannot be understood",
        arguments: [
            ("version 1\nseconds x", 2), ("seconds 20", 1), ("version 1\n\nkm -5 # km", 3),
            ("version 1\nwindow 3", 2),
            ("version 1\nscatter emsc - 1 2", 2), ("version 1\nscatter emsc nan 1 2 3 4", 2),
            ("version 1\nauthor NEIC", 2),
        ])
    func invalid(text: String, line: Int) {
        #expect { try Parameters(text: text) } throws: {
            guard let failure = $0 as? Failure else { return false }
            return failure.kind == .badData && failure.description.hasPrefix("parameters, line \(line): ")
        }
    }

    @Test(
        "The scatter at a magnitude is the author's, or else the network's, the agency's or the default"
    )
    func scatter() {
        var table = ScatterTable()
        func rows(_ seconds: Double) -> [ScatterTable.Row] {
            [
                .init(
                    magnitude: -.infinity, scatter: .init(seconds: seconds, kilometres: 1, magnitudes: 1),
                    pairs: 0),
                .init(
                    magnitude: 5, scatter: .init(seconds: seconds + 0.5, kilometres: 1, magnitudes: 1),
                    pairs: 0),
            ]
        }
        table.rows = ["*": rows(1), "usgs": rows(2), "ci": rows(3), "gfz": rows(4)]
        var solution = row("usgs:1", magnitude: 4.9)
        #expect(table.scatter(of: solution, author: nil).seconds == 2)
        solution.network = "ci"
        #expect(table.scatter(of: solution, author: nil).seconds == 3)
        #expect(table.scatter(of: solution, author: "gfz").seconds == 4)
        solution.magnitude = 5
        #expect(table.scatter(of: solution, author: "unknown").seconds == 3.5)
        solution.magnitude = nil
        #expect(table.scatter(of: solution, author: nil).seconds == 3)
        #expect(table.scatter(of: row("new:1"), author: nil).seconds == 1)
        #expect(ScatterTable().scatter(of: solution, author: nil).seconds > 0)
    }

    @Test("The fit finds the agencies' scatter from linked rows, even if a few rows are bad")
    func fit() throws {
        var random = seededRandom()
        let real: [String: Scatter] = [
            "a": .init(seconds: 0.3, kilometres: 2, magnitudes: 0.1),
            "b": .init(seconds: 1.2, kilometres: 8, magnitudes: 0.2),
            "c": .init(seconds: 3, kilometres: 25, magnitudes: 0.3),
        ]
        let links = (0..<12_000).map { number in
            real.sorted { $0.key < $1.key }.map { name, scatter in
                let worse = random.chance(0.03) ? 3.0 : 1
                return row(
                    "\(name):\(number)", seconds: random.normal() * scatter.seconds * worse,
                    36 + random.normal() * scatter.kilometres * worse / (111.195 * 1.414),
                    random.normal() * scatter.kilometres * worse / (111.195 * 1.414 * 0.809),
                    magnitude: (number % 2 == 0 ? 4.5 : 5.5) + random.normal() * scatter.magnitudes * worse)
            }
        }
        let table = ScatterFit(links, .shipped).table(replacing: Parameters.shipped.scatter)
        for (name, scatter) in real {
            // The estimate of a small scatter is uncertain when the others are large.
            for found in try #require(table.rows[name]) where found.pairs > 300 {
                #expect(
                    abs(found.scatter.seconds - scatter.seconds) < 0.15 * scatter.seconds + 0.35,
                    "\(name) \(found)")
                #expect(
                    abs(found.scatter.kilometres - scatter.kilometres) < 0.15 * scatter.kilometres + 2.5,
                    "\(name) \(found)")
                #expect(abs(found.scatter.magnitudes - scatter.magnitudes) < 0.08, "\(name) \(found)")
            }
        }
        #expect(table.rows["*"] == Parameters.shipped.scatter.rows["*"])
    }

    @Test(
        "Rows whose author has an unusual name are fitted under their agency, and the printed table can be read",
        arguments: ["", " ", "Jo Doe", "#1", "a#b", "a\nb", "*", "\u{301}a"])
    func unusualAuthor(author: String) throws {
        var random = seededRandom()
        let links = (0..<100).map { number in
            var other = row(
                "emsc:\(number)", seconds: random.normal(), 36 + 0.1 * random.normal(),
                magnitude: 4.5 + 0.05 * random.normal())
            other.author = author
            return [row("gfz:\(number)", magnitude: 4.5), other]
        }
        let shipped = Parameters.shipped.scatter
        let table = ScatterFit(links, .shipped).table(replacing: shipped)
        #expect(Set(table.rows.keys) == ["*", "emsc", "gfz"])
        #expect(table.rows["*"] == shipped.rows["*"])
        let read = try Parameters(text: "version 2\n\(table)\n")
        #expect(read.scatter.rows.mapValues { $0.map(\.pairs) } == table.rows.mapValues { $0.map(\.pairs) })
    }

    @Test("Copies and single rows do not contribute to the scatter")
    func nothingToFit() {
        var copy = row("emsc:1")
        copy.author = "gfz"
        let links = (0..<200).map { _ in [row("gfz:1"), copy] } + [[row("usgs:1")], []]
        #expect(ScatterFit(links, .shipped).table(replacing: ScatterTable()).rows.isEmpty)
    }
}
