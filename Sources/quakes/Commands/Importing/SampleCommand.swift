import ArgumentParser
import Feed
import SampleFeed

struct SampleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sample",
        abstract: "Write a synthetic feed, for trials and measurements offline.",
        discussion: """
            The events cannot be mistaken for real ones: their network codes are q0 to q9, which no agency has.

                quakes sample --count 1000 | quakes import -

            By default, the newest event is more than an hour old, and a feed that is written later has newer events, too. \
            With --until, the same options give the same bytes on every machine.
            """)

    @Option(help: ArgumentHelp("How many events to write.", valueName: "n"))
    var count = 1000

    @Option(
        help: ArgumentHelp("Another seed gives other events; some of their codes may repeat.", valueName: "s")
    )
    var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp("Revise this fraction of the events: 0 to 1, or a percentage.", valueName: "p"),
        transform: fraction)
    var revise = 0.0

    @Option(
        help: ArgumentHelp(
            "No event is later than this, such as 2026-01-01. (default: 70 minutes ago)", valueName: "time"))
    var until: TimeArgument?

    func validate() throws {
        guard (0...1_000_000_000_000).contains(count) else {
            throw ValidationError("--count takes 0 to 1000000000000, not \(count)")
        }
    }

    func run() throws {
        // The document's date is ten minutes after `end`, or 70 minutes with revisions. It should not be in the future.
        let end = until?.instant ?? Instant(milliseconds: Instant.now.milliseconds - 4_200_000)
        try SampleFeed(count: count, seed: seed, revised: revise, until: end).write { piece in
            try Task.checkCancellation()
            StandardOutput.write(piece)
        }
    }

    private static func fraction(_ text: String) throws -> Double {
        let value = text.hasSuffix("%") ? Double(text.dropLast()).map { $0 / 100 } : Double(text)
        guard let value, (0...1).contains(value) else {
            throw ValidationError("--revise takes a fraction from 0 to 1, or a percentage")
        }
        return value
    }
}
