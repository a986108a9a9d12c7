import TestSupport
import Testing

@Suite("Help")
struct HelpTests {
    @Test(
        "Every command explains itself on standard output, with and without a database",
        arguments: [
            [], ["import"], ["list"], ["changes"], ["delete"], ["report"], ["migrate"], ["sample"],
            ["database"],
            ["database", "shell"],
        ])
    func help(command: [String]) async throws {
        let outcome = try await QuakesCommand().run(command + ["--help"])

        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        #expect(outcome.output.hasPrefix("OVERVIEW: "))
        #expect(outcome.output.contains("USAGE: quakes"))
    }

    @Test("--version prints the version")
    func version() async throws {
        let outcome = try await QuakesCommand().run("--version")

        #expect(outcome.status == 0)
        #expect(outcome.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
    }
}
