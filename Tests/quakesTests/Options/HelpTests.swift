import TestSupport
import Testing

@Suite("Help")
struct HelpTests {
    @Test(
        "A command prints its help on standard output, even without a database",
        arguments: [
            [], ["import"], ["list"], ["map"], ["plot"], ["changes"], ["associate"], ["delete"], ["report"],
            ["migrate"],
            ["sample"],
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

    @Test("The help of every command shows no Swift values, and each default only once")
    func plainWords() async throws {
        var commands: [[String]] = [[]]
        var count = 0
        while let command = commands.popLast() {
            count += 1
            let help = try await QuakesCommand().run(command + ["--help"]).output
            let names = help.components(separatedBy: "SUBCOMMANDS:").dropFirst().first?
                .matches(of: #/\n {2}([a-z]+) {2}/#).map { command + [String($0.1)] }
            commands += names ?? []

            // Swift values look like DurationArgument(duration: 1.0 seconds), Optional(…) and nil.
            #expect(!help.contains(#/[A-Za-z]+\(\w+:|Optional|\bnil\b/#), "\(command): \(help)")
            // A longer line of an example would be wrapped, and could not be copied from the terminal.
            let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
            for (example, next) in zip(lines, lines.dropFirst()) where example.contains(#/^ {4}.*quakes /#) {
                #expect(next.isEmpty || next.hasPrefix("    "), "\(command): \(example)")
            }
            // The text of an option begins at the left; its continuation lines are indented more.
            for option in help.split(separator: #/\n {2,6}(?=[-<])/#) {
                #expect(option.ranges(of: "default:").count <= 1, "\(command): \(option)")
            }
        }
        #expect(count >= 20)
    }

    @Test("--version prints the version")
    func version() async throws {
        let outcome = try await QuakesCommand().run("--version")

        #expect(outcome.status == 0)
        #expect(outcome.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
    }
}
