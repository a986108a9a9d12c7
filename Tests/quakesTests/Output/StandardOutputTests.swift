import TestSupport
import Testing

@Suite("Standard output")
struct StandardOutputTests {
    /// ssh and Node.js can make a pipe non-blocking for all programs that use the pipe.
    @Test("A long output is complete even if the pipe is non-blocking")
    func nonBlocking() async throws {
        let sample = ["sample", "--count", "20000", "--until", "2026-01-01"]
        var quakes = QuakesCommand()
        let expected = try await quakes.run(sample)
        quakes.launcher = [
            "python3", "-c", "import os, sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])",
        ]
        let outcome = try await quakes.run(sample)
        #expect(outcome.status == 0 && outcome.errors == "", "\(outcome.errors)")
        // The outputs are too long to be shown.
        let isComplete = outcome.output == expected.output
        #expect(isComplete)
    }
}
