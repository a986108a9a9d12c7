import ArgumentParser
import Feed
import FoundationEssentials

/// What the argument parser says about wrong usage, and what it leaves out: what a refused value may be, and which command
/// was probably meant.
struct WrongUsage: CustomStringConvertible {
    let description: String

    init(_ error: any Error, arguments: [String], of root: any ParsableCommand.Type) {
        let message = root.message(for: error)
        let whole = root.fullMessage(for: error)
        guard let better = Self.better(message, arguments, root), let place = whole.firstRange(of: message)
        else {
            description = whole
            return
        }
        description = whole.replacingCharacters(in: place, with: better)
    }

    private static func better(
        _ message: String, _ arguments: [String], _ root: any ParsableCommand.Type
    ) -> String? {
        if let match = message.wholeMatch(of: #/Unexpected argument '(.*)'/#) {
            return unknownCommand(String(match.1), arguments, root)
        }
        guard
            let match = message.wholeMatch(
                of: #/The value '((?s:.*))' is invalid for '(?:--[a-z-]+ )?<([^<>]+)>'/#),
            let allowed = allowed(String(match.2), value: String(match.1))
        else { return nil }
        return "\(message): \(allowed)"
    }

    /// By the name that the help gives to a value.
    private static func allowed(_ name: String, value: String) -> String? {
        switch name {
        case "lat,lon": Coordinate.problem(with: value)
        case "duration": "it takes a number and a unit, such as 90s, 15m, 2h, 7d or 2w"
        case "date", "since", "time":
            "it takes a time such as 2014-04-15, 2014-04-15T12:00Z, or 7d for seven days ago"
        case "token|time":
            "it takes a token, or a time such as 2014-04-15, 2014-04-15T12:00Z, or 7d for seven days ago"
        case "n", "s", "token", "run", "id": "it takes a whole number"
        case "n|p%": "it takes a whole number, or a percentage such as 2%"
        case "m", "km": "it takes a number"
        default: nil
        }
    }

    private static func unknownCommand(
        _ word: String, _ arguments: [String], _ root: any ParsableCommand.Type
    ) -> String? {
        var command = root
        for argument in arguments {
            let commands = command.configuration.subcommands
            if commands.isEmpty { return nil }
            if let next = commands.first(where: { $0._commandName == argument }) {
                command = next
            } else if argument == word {
                let names = commands.map { $0._commandName }
                let remedy = closestSpelling(of: word, among: names).map { "Did you mean '\($0)'?" }
                return
                    "There is no command '\(word)'. \(remedy ?? "The commands are \(names.joined(separator: ", ")).")"
            } else {
                return nil
            }
        }
        return nil
    }
}
