import Glibc
import Subprocess

/// One run of a program, as the server's OS user or as the caller.
package struct ServerProgram: Sendable {
    package struct Outcome: Sendable {
        package let succeeded: Bool
        /// stdout and stderr as they came.
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

    /// Runs to the end. Cancellation kills the program and everything it started.
    func run() async throws -> Outcome {
        try await run(input: .none)
    }

    /// Runs with the lock's descriptor as standard input: should this process be killed, the lock stays held
    /// until the program has ended, so nobody takes over files that are still being written.
    package func run(holding lock: HomeLock) async throws -> Outcome {
        try await run(
            input: .fileDescriptor(.init(rawValue: lock.descriptor), closeAfterSpawningProcess: false))
    }

    private func run(input: some InputProtocol) async throws -> Outcome {
        let command = account?.command(path, arguments) ?? (path: path, arguments: arguments)
        var options = PlatformOptions()
        // A session of its own, so that the terminal's signals miss it.
        options.createSession = true
        // What a cancelled program leaves is thrown away, so there is nothing to be gentle about.
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

    /// Not the caller's environment: its PGDATA, PGPORT, PGOPTIONS and locale would all be obeyed.
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

/// Runs to the end although the caller is cancelled: for what must not be left half-done.
package func uncancelled<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await Task { try await operation() }.value
}

/// Looks again and again until `condition` holds; false when `limit` has passed without it.
package func poll(upTo limit: Duration, until condition: () throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(20))
    }
    return true
}
