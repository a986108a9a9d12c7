import FoundationEssentials
import Glibc
import LocalPostgres

/// The process's environment variables, and whether the process has a terminal.
struct Environment {
    var variables: [String: String]
    var isTerminal: Bool

    static var current: Environment {
        Environment(
            variables: ProcessInfo.processInfo.environment,
            isTerminal: isatty(STDIN_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
    }

    /// A variable that is set to an empty value counts as not set.
    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension LocalCluster {
    static var current: LocalCluster {
        LocalCluster(home: defaultHome(environment: Environment.current.variables))
    }
}
