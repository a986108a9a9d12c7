import ArgumentParser
import Feed
import FoundationEssentials

/// The argument parser's message about wrong usage, with hints that the parser does not give: the values that an option accepts,
/// and the command that was probably meant.
struct WrongUsage: CustomStringConvertible {
    let description: String

    /// - Parameter command: the command that detected the error while it ran. Its usage is shown instead of the root command's
    ///   usage.
    init(
        _ error: any Error, arguments: [String], of root: any ParsableCommand.Type,
        in command: (any ParsableCommand.Type)? = nil
    ) {
        let message = root.message(for: error)
        if let command, let path = Self.path(to: command, from: root) {
            let usage = "Usage: \(path) <options>\n  See '\(path) --help' for more information."
            description = "Error: \(message)\n\(usage)"
            return
        }
        let whole = root.fullMessage(for: error)
        let better = Self.unknownCommand(in: arguments[...], of: root) ?? Self.hint(message)
        guard let better, let place = whole.firstRange(of: message) else {
            description = whole
            return
        }
        description = whole.replacingCharacters(in: place, with: better)
    }

    /// The words that start a command, such as `quakes database start`.
    private static func path(
        to command: any ParsableCommand.Type, from root: any ParsableCommand.Type
    ) -> String? {
        func name(of command: any ParsableCommand.Type) -> String {
            command.configuration.commandName ?? "quakes"
        }
        if command == root { return name(of: root) }
        return root.configuration.subcommands.lazy.compactMap { path(to: command, from: $0) }.first
            .map { "\(name(of: root)) \($0)" }
    }

    private static func hint(_ message: String) -> String? {
        let form = #/The value '(?s:.*)' is invalid for '(?:--[a-z-]+ )?<([^<>]+)>'/#
        guard let match = message.wholeMatch(of: form) else { return nil }
        return hints[String(match.1)].map { "\(message): \($0)" }
    }

    /// The accepted values, by the placeholder in the help, such as `duration`.
    private static let hints: [String: String] = {
        let time = "a time such as 2014-04-15, 2014-04-15T12:00Z, or 7d for seven days ago"
        var hints = [
            "duration": "it takes a number and a unit, such as 90s, 15m, 2h, 7d or 2w",
            "date": "it takes \(time)", "time": "it takes \(time)",
            "time|token|position": "it takes a token, a position, or \(time)",
            "n|p%": "it takes a whole number, or a percentage such as 2%",
            "m": "it takes a number", "km": "it takes a number",
        ]
        for name in ["n", "s", "token", "run", "id", "count"] { hints[name] = "it takes a whole number" }
        return hints
    }()

    private static func unknownCommand(
        in words: ArraySlice<String>, of command: any ParsableCommand.Type
    ) -> String? {
        let commands = command.configuration.subcommands
        guard let word = words.first, !commands.isEmpty, !word.hasPrefix("-"), word != "help" else {
            return nil
        }
        let names = commands.compactMap { $0.configuration.commandName }
        if let next = names.firstIndex(of: word) {
            return unknownCommand(in: words.dropFirst(), of: commands[next])
        }
        let remedy = closestSpelling(of: word, among: names).map { "Did you mean '\($0)'?" }
        return
            "There is no command '\(word)'. \(remedy ?? "The commands are \(names.joined(separator: ", ")).")"
    }
}
