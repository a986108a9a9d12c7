import ArgumentParser
import QuakeStore
import Synchronization

struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one earthquake: its properties, its focal mechanism and its changes.",
        discussion: """
            The command lists every change that is in the history, the oldest first. For a deleted event, the last change shows \
            the reason, and the event's magnitude and place. If the code is in neither the catalogue nor the history, the exit \
            code is 66:

                quakes show us7000abcd
            """)

    @Argument(help: "The earthquake's code.")
    var code: String

    @Option(help: "Text for people, or one JSON object.")
    var format = TextFormat.text

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        let event = try await database.withConnection(for: .reader) { connection in
            try await UnknownCodes.check(code, on: connection)
            var selection = QuakeSelection()
            selection.values[.code] = [code]
            var story = ChangeSelection()
            story.code = code
            story.describesEvents = true
            let shown = Mutex(ShownEvent(code: code))
            try await selection.forEach(on: connection) { quake in shown.withLock { $0.quake = quake } }
            try await story.forEach(
                on: connection, beginning: { horizon in shown.withLock { $0.horizon = horizon } }
            ) {
                change in shown.withLock { $0.changes.append(change) }
            }
            return shown.withLock { $0 }
        }
        switch format {
        case .json: StandardOutput.print(event.json.jsonText)
        case .text: StandardOutput.write(event.text(at: StandardOutput.terminal))
        }
    }
}
