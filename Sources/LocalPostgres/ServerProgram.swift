import Glibc
import Subprocess

package struct ServerProgram: Sendable {
    package struct Outcome: Sendable {
        package let succeeded: Bool
        /// Standard output and standard error together, in the order in which they were written.
        package let output: String
    }

    var path: String
    var arguments: [String]
    var account: ServerAccount?
    var workingDirectory = "/"
    var environment: [String: String] = [:]

    package init(_ path: String, _ arguments: [String], as account: ServerAccount? = nil) {
        self.path = path
        self.arguments = arguments
        self.account = account
    }

    /// Runs the program to its end. Cancellation kills the program and everything that it started.
    func run() async throws -> Outcome {
        try await run(input: .none)
    }

    /// Runs the program with the lock's descriptor as its standard input. If this process is killed, the lock is held
    /// until the program ends, so that no other process takes over files that are still being written.
    package func run(holding lock: HomeLock) async throws -> Outcome {
        try await run(
            input: .fileDescriptor(.init(rawValue: lock.descriptor), closeAfterSpawningProcess: false))
    }

    private func run(input: some InputProtocol) async throws -> Outcome {
        let command = account?.command(path, arguments) ?? (path: path, arguments: arguments)
        var options = PlatformOptions()
        // Its own session keeps the terminal's signals away from the program.
        options.createSession = true
        // A cancelled program can be killed at once, because everything that it leaves behind is discarded.
        options.teardownSequence = [
            .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .milliseconds(100))
        ]
        do {
            let result = try await Subprocess.run(
                .path(.init(command.path)), arguments: Arguments(command.arguments),
                environment: cleanEnvironment, workingDirectory: .init(workingDirectory),
                platformOptions: options,
                input: input, output: .string(limit: 1 << 20), error: .combinedWithOutput)
            try Task.checkCancellation()
            return Outcome(
                succeeded: result.terminationStatus.isSuccess, output: result.standardOutput)
        } catch let error as SubprocessError {
            throw LocalPostgresError.launchFailed(program: command.path, reason: error.description)
        }
    }

    /// Replaces the caller's environment, because its PGDATA, PGPORT, PGOPTIONS and locale would take effect.
    private var cleanEnvironment: Environment {
        var variables: [Environment.Key: String] = ["LC_ALL": "C", "PATH": "/usr/bin:/bin"]
        for name in ["TZ", "LD_LIBRARY_PATH"] {
            if let value = getenv(name), let key = Environment.Key(rawValue: name) {
                variables[key] = String(cString: value)
            }
        }
        for (name, value) in environment {
            if let key = Environment.Key(rawValue: name) { variables[key] = value }
        }
        return .custom(variables)
    }
}

/// Runs the operation to its end even if the caller is cancelled, for work that must not be left half-done.
package func uncancelled<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await Task { try await operation() }.value
}

/// Checks `condition` repeatedly until it holds. Returns false if it still does not hold after `limit`.
package func poll(upTo limit: Duration, until condition: () throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(20))
    }
    return true
}
