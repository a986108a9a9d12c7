import Feed
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Documents of other agencies, imported by the program")
struct AgencyDocumentTests {
    static let text = """
        #EventID|Time|Latitude|Longitude|Depth/km|Contributor|MagType|Magnitude|EventLocationName
        gfz2026texh|2026-10-01T01:29:17.05|36.047|68.87|10.0|GFZ|mb|5.28|Hindu Kush
        """

    @Test("FDSN text is imported from a file of any name, from a gzip file and from standard input")
    func sources() async throws {
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await withFolder { folder in
                let path = folder.appending(path: "catalogue.geojson")
                try Data(Self.text.utf8).write(to: path)
                let outcome = try await quakes.run("import", path.path)
                #expect(outcome.status == 0, "\(outcome.errors)")
                _ = try await Subprocess.run(
                    .name("gzip"), arguments: ["--keep", path.path], output: .discarded)
                let again = try await quakes.run("import", path.path + ".gz", "--format", "json")
                #expect(again.output.contains(#/"unchanged": ?1\b/#), "\(again)")
                let piped = try await quakes.run(["import", "-", "--format", "json"], input: Self.text)
                #expect(piped.output.contains(#/"unchanged": ?1\b/#), "\(piped)")
            }
            let listed = try await quakes.run("list", "--format", "ndjson")
            #expect(listed.output.contains("gfz:gfz2026texh"))
        }
    }

    @Test("A document in another format is refused, and the error names the format")
    func refused() async throws {
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let outcome = try await quakes.run(["import", "-"], input: "DATA_TYPE BULLETIN IMS1.0:short\n")
            #expect(outcome.status == 65)
            #expect(outcome.errors.contains("IMS1.0 text, not FDSN text"), "\(outcome.errors)")
        }
    }

    @Test(
        "The terms of the agencies' data are shown without a database, and the documentation agrees with them"
    )
    func terms() async throws {
        let quakes = QuakesCommand()
        let table = try await quakes.run("status", "--sources")
        #expect(table.status == 0, "\(table.errors)")
        let json = try await quakes.run("status", "--sources", "--format", "json")
        let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        let agencies = try #require(object?["agencies"] as? [[String: Any]])
        #expect(agencies.compactMap { $0["agency"] as? String } == Agency.known.map(\.name))
        #expect(agencies.compactMap { $0["attribution"] as? String } == Agency.known.map(\.attribution))
        let swept = EventService.registered.compactMap(\.name)
        #expect(Set(agencies.compactMap { $0["source"] as? String }) == Set(swept))

        let page = try String(contentsOf: projectFile("docs/agencies.md"), encoding: .utf8)
        for agency in Agency.known {
            #expect(
                table.output.contains(agency.title)
                    && table.output.contains(agency.licence ?? "ask the agency"))
            let cells = [agency.name, agency.title, agency.licence ?? "ask the agency", agency.terms ?? ""]
            #expect(
                page.contains("| \(cells.joined(separator: " | ")) |".replacing("|  |", with: "| |")),
                "\(cells)")
        }
    }

    @Test(
        "ObsPy and Quakes read the same times, places and magnitudes from ObsPy's and the agencies' QuakeML",
        .needsClients)
    func obsPy() async throws {
        var documents = try await Clients.run("agencies.py", ["--list"]).split(separator: "\n").map(
            String.init)
        #expect(documents.count > 10)
        let samples = (try? FileManager.default.contentsOfDirectory(atPath: AgencySamples.folder.path)) ?? []
        documents += samples.filter { $0.hasPrefix("quakeml-") }.map(AgencySamples.path)
        try await withFolder { folder in
            var pairs: [String] = []
            for document in documents {
                try await TestServer.shared.withDatabase { database in
                    let summary = try await database.importFile(document)
                    #expect(summary.counts.seen > 0, "\(document): \(summary)")
                    let listed = try await QuakesCommand(["DATABASE_URL": database.url])
                        .run("list", "--format", "ndjson", "--limit", "0")
                    let path = folder.appending(path: "\(pairs.count).ndjson")
                    try Data(listed.output.utf8).write(to: path)
                    pairs += [document, path.path]
                }
            }
            #expect(try await Clients.run("agencies.py", pairs).contains("events are the same"))
        }
    }
}
