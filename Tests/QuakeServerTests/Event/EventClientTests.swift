import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Clients of the event service")
struct EventClientTests {
    @Test(
        "ObsPy's client gets the same events with each of its parameters, and finds the QuakeML valid",
        .enabled(if: ObsPy.python != nil, "ObsPy is not here, and PyPI is out of reach"))
    func obsPy() async throws {
        let python = try #require(ObsPy.python)
        try await TestServer.shared.withDatabase { database in
            // Earthquakes of all kinds, and one that is there no more.
            try await database.importSample(300)
            try await database.query(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude)
                values ('q0gone', 'q0', 'gone', now(), now(), 0, 0)
                """)
            try await database.query("delete from quake where code = 'q0gone'")
            try await TestSite.run(of: database) { site in
                let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
                    path: "../../fdsnevent.py")
                let result = try await Subprocess.run(
                    .path(.init(python)), arguments: .init([script.standardizedFileURL.path, site.url("")]),
                    output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
                #expect(
                    result.terminationStatus.isSuccess,
                    "\(result.standardOutput.prefix(2000))\(result.standardError.suffix(2000))")
                #expect(result.standardOutput.contains("requests agree"))
            }
        }
    }
}
