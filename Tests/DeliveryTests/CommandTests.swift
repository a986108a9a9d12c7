import Alerts
import Foundation
import TestSupport
import Testing

@testable import Delivery

@Suite("Delivery to commands") struct CommandTests {
    private func receiver(_ words: String..., limit: Duration = .seconds(30)) -> Receiver {
        Receiver(name: "siren", .command(words, limit: limit))
    }

    private func shell(_ script: String, _ arguments: String..., limit: Duration = .seconds(30)) -> Receiver {
        Receiver(name: "siren", .command(["/bin/sh", "-c", script, "sh"] + arguments, limit: limit))
    }

    @Test func aCommandReadsTheMessageFromItsInput() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "message")
            let sent = try message(title: "M 5.0 地震", text: String(repeating: "x", count: 200_000))
            try await Courier().deliver(sent, to: shell("cat > \"$1\"", file.path()))
            #expect(try JSONDecoder().decode(Message.self, from: Data(contentsOf: file)) == sent)
        }
    }

    @Test func aCommandNeedNotReadTheMessage() async throws {
        try await Courier().deliver(
            message(text: String(repeating: "x", count: 1 << 20)), to: receiver("/bin/true"))
    }

    @Test func aCommandGetsNoSecretsOfTheEnvironment() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "environment")
            var options = Courier.Options()
            options.environment = [
                "PATH": "/usr/bin:/bin", "TZ": "Asia/Tokyo", "DATABASE_URL": "SECRET", "HOOK": "SECRET",
            ]
            try await Courier(options: options).deliver(message(), to: shell("env > \"$1\"", file.path()))
            let names = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap {
                $0.split(separator: "=").first
            }
            #expect(names.contains("TZ"))
            #expect(Set(names).isSubset(of: ["PATH", "TZ", "PWD", "OLDPWD", "SHLVL", "_"]))
        }
    }

    @Test func anArgumentIsNeverRunByAShell() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "touched")
            try await Courier().deliver(
                message(title: "$(touch \(file.path()))"), to: receiver("/bin/echo", "; touch \(file.path())")
            )
            #expect(!FileManager.default.fileExists(atPath: file.path()))
        }
    }

    @Test func aFailedCommandIsReported() async throws {
        let failures = [
            try await failure { try await Courier().deliver(message(), to: shell("exit 3", "SECRET")) },
            try await failure { try await Courier().deliver(message(), to: shell("kill -9 $$")) },
            try await failure {
                try await Courier().deliver(message(), to: receiver("/nonexistent/siren", "SECRET"))
            },
        ]
        #expect(
            failures == [
                DeliveryFailure("command sh ended with exit code 3"),
                DeliveryFailure("command sh was ended by signal 9"),
                DeliveryFailure("command siren can't be started"),
            ])
    }

    /// The test replaces the sleep of the time limit, so the limit runs out once the command has started.
    @Test func aCommandThatHangsIsKilledWithAllThatItStarted() async throws {
        try await withFolder { folder in
            let fifo = folder.appending(path: "started").path()
            #expect(mkfifo(fifo, 0o600) == 0)
            var options = Courier.Options()
            options.sleep = { _ in
                // Opening the FIFO for reading blocks until the command opens it for writing.
                await withCheckedContinuation { continuation in
                    DispatchQueue.global().async {
                        let file = open(fifo, O_RDONLY)
                        var byte: UInt8 = 0
                        _ = read(file, &byte, 1)
                        close(file)
                        continuation.resume()
                    }
                }
            }
            let courier = Courier(options: options)
            // The command and its child ignore SIGTERM, and the child keeps the pipe open.
            let receiver = shell(
                "trap '' TERM; (echo $$ > \"$1\"; exec sleep 1000) & wait", fifo, limit: .seconds(5))
            let failure = try await failure { try await courier.deliver(message(), to: receiver) }
            #expect(failure == DeliveryFailure("command sh was killed: it took more than 5 seconds"))
        }
    }

    @Test func cancellingKillsACommand() async throws {
        try await withFolder { folder in
            let fifo = folder.appending(path: "started").path()
            #expect(mkfifo(fifo, 0o600) == 0)
            let receiver = shell("echo $$ > \"$1\"; exec sleep 1000", fifo, limit: .seconds(3600))
            let task = Task { try await Courier().deliver(message(), to: receiver) }
            let text = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(
                        returning: (try? FileHandle(forReadingFrom: URL(filePath: fifo)).readToEnd())
                            ?? Data())
                }
            }
            let process = try #require(
                pid_t(String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(kill(process, 0) == -1)
        }
    }
}
