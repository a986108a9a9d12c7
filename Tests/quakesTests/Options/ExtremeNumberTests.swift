import TestSupport
import Testing

/// A command may accept or refuse NaN and numbers that are too large. It must not crash, which would give the exit code 132.
@Suite("Numbers of any size")
struct ExtremeNumberTests {
    /// N stands for the number.
    private static let commands = [
        "list --limit=N", "list --min-magnitude=N --max-magnitude=N", "list --near=1,1 --within=N",
        "list --box=N,N,N,N",
        "list --as-of=N", "list --since=Nd", "list --until=Nmo", "changes --after=N", "changes --limit=N",
        "rejects --run=N --limit=N", "report gutenberg_richter latitude=N longitude=N radius_km=N",
        "import - --batch=N", "import - --max-rejects=N", "import - --max-rejects=N%",
        "import - --timeout=Ns",
        "backfill --since=1d --service=http://127.0.0.1:1/fdsnws/event/1 --per-request=N", "prune --keep=Nd",
        "prune --keep=1d --keep-runs=Nd", "status --max-age=Ns --max-lag=Nw", "sample --count=N --until=1970",
        "sample --count=1 --revise=N --seed=N", "plot magnitudes --min-magnitude=N",
        "plot aftershocks --mainshock=q0a --days=N",
        "plot aftershocks --mainshock=q0a --radius=N", "map --near=1,1 --within=N", "serve --max-events=N",
    ]

    @Test(
        "A command accepts or refuses NaN and the largest and smallest numbers, and does not crash",
        arguments: ["9223372036854775807", "-9223372036854775808", "nan"])
    func numbers(number: String) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            for command in Self.commands {
                let arguments = command.replacing("N", with: number).split(separator: " ").map(String.init)
                let outcome = try await quakes.run(
                    arguments, input: "{\"type\":\"FeatureCollection\",\"features\":[]}")
                #expect(
                    [0, 64, 65, 66, 69].contains(outcome.status),
                    "\(arguments): \(outcome.status) \(outcome.errors)")
            }
        }
    }
}
