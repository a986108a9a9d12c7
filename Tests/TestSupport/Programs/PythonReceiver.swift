import Foundation
import Testing

/// Runs one of the scripts in `Tests/Receivers`, which receive messages. Their implementations of the protocols are independent
/// of ours. The script ends when `run` returns.
package final class PythonReceiver: @unchecked Sendable {
    package private(set) var port = 0
    private let process = Process()
    /// The script's standard input. It closes when this process ends, and then the script ends, too.
    private let input = Pipe()
    private let output: FileHandle
    private var buffer = Data()

    /// - Parameters:
    ///   - script: the file name, such as `webhook.py`.
    ///   - environment: variables besides PATH.
    ///   - python: a Python with the modules that the script imports.
    package static func run<Result>(
        _ script: String, _ arguments: [String], environment: [String: String] = [:],
        python: String = "/usr/bin/python3", _ body: (PythonReceiver) async throws -> Result
    ) async throws -> Result {
        let receiver = PythonReceiver(python, script, arguments, environment)
        try receiver.process.run()
        do {
            // The script prints its port as soon as it listens.
            let first = await receiver.line()
            receiver.port = try #require(first.flatMap { Int($0) })
            let result = try await body(receiver)
            await receiver.end()
            return result
        } catch {
            await receiver.end()
            throw error
        }
    }

    private init(
        _ python: String, _ script: String, _ arguments: [String], _ environment: [String: String]
    ) {
        process.executableURL = URL(filePath: python)
        process.arguments = [projectFile("Tests/Receivers/\(script)").path] + arguments
        process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        let pipe = Pipe()
        (process.standardInput, process.standardOutput) = (input, pipe)
        output = pipe.fileHandleForReading
    }

    private func end() async {
        kill(process.processIdentifier, SIGKILL)
        await onThread { self.process.waitUntilExit() }
    }

    /// The next message, as the script printed it.
    package func next() async throws -> [String: Any] {
        let line = await line()
        let json = Data(try #require(line).utf8)
        return try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    private func line() async -> String? {
        await onThread { [self] () -> String? in
            while true {
                if let end = buffer.firstIndex(of: 10) {
                    defer { buffer = Data(buffer[(end + 1)...]) }
                    return String(decoding: buffer[..<end], as: UTF8.self)
                }
                let data = output.availableData
                if data.isEmpty { return nil }
                buffer += data
            }
        }
    }
}
