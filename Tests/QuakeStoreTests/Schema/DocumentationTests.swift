import Foundation
import PostgreSQL
import QuakeStore
import Subprocess
import TestSupport
import Testing

/// Checks that the documentation's quotations from a database are up to date; `make docs` updates them.
@Suite("Documentation")
struct DocumentationTests {
    let server = TestServer.shared

    @Test("docs/data-dictionary.md has the comments of the database")
    func dataDictionary() async throws {
        try await server.withDatabase { database in
            let written = try await psql(
                ["-At", "-f", projectFile("docs/data-dictionary.sql").path], database)
            let kept = try String(contentsOf: projectFile("docs/data-dictionary.md"), encoding: .utf8)
            #expect(written == kept, "run: make docs")
        }
    }

    @Test("The ten queries in docs/reporting.md give the answers that are printed there")
    func questions() async throws {
        let text = try String(contentsOf: projectFile("docs/reporting.md"), encoding: .utf8)
        let blocks = text.matches(of: /```sql\n((?s:.*?))```\n\n```text\n((?s:.*?))```/)
        #expect(blocks.count == 10)
        try await server.withDatabase { database in
            try await database.importSample(20_000)
            try await database.importSample(20_000, revised: 0.05)
            for block in blocks {
                let answer = try await psql(["-c", String(block.output.1)], database)
                    .split(separator: "\n").map { $0.replacing(/\ +$/, with: "") + "\n" }.joined()
                #expect(answer == String(block.output.2), "run: make docs")
            }
        }
    }

    private func psql(_ arguments: [String], _ database: TestDatabase) async throws -> String {
        let psql = try await server.cluster().program("psql")
        let result = try await Subprocess.run(
            .path(.init(psql)),
            arguments: .init(["-qX", "-v", "ON_ERROR_STOP=1", "-d", database.url] + arguments),
            environment: .inherit.updating(["PGTZ": "UTC", "PGCLIENTENCODING": "UTF8"]),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 16))
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        return result.standardOutput
    }
}
