import ArgumentParser
import Feed
import QuakeStore

/// A period of origin times at an event service.
struct ServiceStretch: ParsableArguments {
    @Option(
        name: [.long, .customLong("from")],
        help: ArgumentHelp("Only events from this time on, such as 2020-01-01 or 30d.", valueName: "date"))
    var since: TimeArgument

    @Option(
        name: [.long, .customLong("to")],
        help: ArgumentHelp("Only events before this time. (default: now)", valueName: "date"))
    var until: TimeArgument?

    @Option(
        name: .customLong("service"),
        help: ArgumentHelp(
            "The event service: a name that quakes import accepts, such as usgs or gfz, or the URL of another service, up to and including its version number.",
            valueName: "service"))
    var serviceName = "usgs"

    @Option(help: ArgumentHelp("The shortest wait between two requests.", valueName: "duration"))
    var pace = DurationArgument(argument: "1s")!

    private var found: EventService? {
        EventService(FeedSource(serviceName)) ?? EventService(FeedSource(serviceName + "/"))
    }
    var service: EventService { found ?? .usgs }

    func validate() throws {
        guard since.instant < until?.instant ?? .now else {
            throw ValidationError(
                until == nil ? "--since must be in the past" : "--until must be later than --since")
        }
        guard found != nil else {
            throw ValidationError(
                "--service takes a name such as usgs, or a URL such as https://HOST/fdsnws/event/1/, not \(FeedSource(serviceName))"
            )
        }
    }
}
