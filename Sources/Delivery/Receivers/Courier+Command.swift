import Alerts
import Foundation
import Subprocess

extension Courier {
    /// Runs a command, which reads the message as JSON from its standard input. An exit status of 0 is success.
    ///
    /// After the time limit, the command and its process group are killed. The command gets only the variables `PATH`, `HOME`,
    /// `LANG` and `TZ`, because the whole environment may contain the database's password. The command writes to the standard
    /// error of this process.
    func run(_ words: [String], limit: Duration, _ message: Message) async throws {
        let name = words[0].split(separator: "/").last ?? "without a name"
        let status: TerminationStatus?
        do {
            let input = try memoryFile(Self.encoded(message))
            status = try await withTimeLimit(limit) { [environment] in
                var platform = PlatformOptions()
                platform.createSession = true
                platform.teardownSequence = [
                    .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .milliseconds(100))
                ]
                return try await Subprocess.run(
                    .path(.init(words[0])), arguments: Arguments(Array(words.dropFirst())),
                    environment: .custom(environment), workingDirectory: "/", platformOptions: platform,
                    input: .fileDescriptor(.init(rawValue: input), closeAfterSpawningProcess: true),
                    output: .discarded,
                    error: .currentStandardError
                ).terminationStatus
            }
        } catch is SubprocessError {
            throw DeliveryFailure("command \(name) can't be started")
        }
        if case .exited(0) = status { return }
        try Task.checkCancellation()
        switch status {
        case nil:
            throw DeliveryFailure(
                "command \(name) was killed: it took more than \(limit.components.seconds) seconds")
        case .exited(let code): throw DeliveryFailure("command \(name) ended with exit code \(code)")
        case .signaled(let signal): throw DeliveryFailure("command \(name) was ended by signal \(signal)")
        }
    }

    private var environment: [Environment.Key: String] {
        var kept: [Environment.Key: String] = [:]
        for name in ["PATH", "HOME", "LANG", "TZ"] {
            if let value = options.environment[name], let key = Environment.Key(rawValue: name) {
                kept[key] = value
            }
        }
        return kept
    }

    /// The descriptor of an unnamed file in memory with these bytes, positioned at its start. Unlike a write to a pipe, a write
    /// to this file does not fail if the command does not read its input.
    private func memoryFile(_ bytes: [UInt8]) throws -> CInt {
        let name = "/quakes-\(UUID())"
        let file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        shm_unlink(name)
        guard file >= 0, write(file, bytes, bytes.count) == bytes.count, lseek(file, 0, SEEK_SET) == 0 else {
            if file >= 0 { close(file) }
            throw DeliveryFailure("no memory for a command's input: \(String(cString: strerror(errno)))")
        }
        return file
    }

    /// Runs the operation; nil if it was cancelled because the time was up.
    private func withTimeLimit<Result: Sendable>(
        _ limit: Duration, _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await operation() }
            group.addTask { [sleep = options.sleep] in
                try await sleep(limit)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
