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

    @Test("Text comes from a file, as gzip and from standard input, whatever it is called")
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

    @Test("Another document is refused with what it is")
    func refused() async throws {
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let outcome = try await quakes.run(["import", "-"], input: "DATA_TYPE BULLETIN IMS1.0:short\n")
            #expect(outcome.status == 65)
            #expect(outcome.errors.contains("IMS1.0 text, not FDSN text"), "\(outcome.errors)")
        }
    }

    @Test(
        "ObsPy reads the same times, places and magnitudes in its own QuakeML and in the agencies'",
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
