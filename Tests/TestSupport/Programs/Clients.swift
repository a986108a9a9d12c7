import Foundation
import Subprocess
import Testing

/// Third-party programs that the tests use as clients of the server. `scripts/tools` lists them.
public enum Clients {
    /// The Python that has the client libraries; nil when they cannot be installed.
    public static let python = fetched("clients")
    /// Prometheus's checker for metrics and rules; nil when it is not available.
    public static let promtool = fetched("promtool")

    /// Runs one of the scripts in `Tests/Clients`, and expects it to succeed.
    ///
    /// - Returns: the script's standard output.
    @discardableResult
    public static func run(_ script: String, _ arguments: [String]) async throws -> String {
        let python = try #require(python)
        let result = try await Subprocess.run(
            .path(.init(python)),
            arguments: .init([projectFile("Tests/Clients/\(script)").path] + arguments),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        #expect(
            result.terminationStatus.isSuccess,
            "\(result.standardOutput.prefix(2000))\(result.standardError.suffix(2000))")
        return result.standardOutput
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test when the clients are not available.
    public static var needsClients: Self {
        .enabled(
            if: Clients.python != nil,
            "the third-party clients cannot be installed (scripts/tools clients)")
    }

    /// Skips the test when promtool is not available.
    public static var needsPromtool: Self {
        .enabled(
            if: Clients.promtool != nil,
            "promtool cannot be installed (scripts/tools promtool)")
    }
}
