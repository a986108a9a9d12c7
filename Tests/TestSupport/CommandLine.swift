import Foundation
import Subprocess

/// The real executable, as a user runs it.
public struct QuakesCommand: Sendable {
    public struct Outcome: Sendable {
        /// The exit code, or 128 and the signal's number.
        public let status: Int32
        public let output: String
        public let errors: String
    }

    /// Nothing of the caller's environment but what programs need.
    public var environment: [String: String]

    public init(_ environment: [String: String] = [:]) {
        self.environment = environment
    }

    /// The executable beside the one that runs the tests.
    public static var path: String {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(filePath: tests).deletingLastPathComponent().appending(path: "quakes").path
        }
    }

    /// Runs it to its end.
    ///
    /// - Parameter input: what it reads on standard input.
    public func run(_ arguments: String..., input: String = "") async throws -> Outcome {
        try await run(arguments, input: input)
    }

    /// Runs it to its end.
    public func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        let result = try await Subprocess.run(
            .path(.init(try Self.path)), arguments: Arguments(arguments), environment: subprocessEnvironment,
            input: .string(input), output: .string(limit: 64 << 20), error: .string(limit: 1 << 20))
        return Outcome(
            status: result.terminationStatus.code, output: result.standardOutput,
            errors: result.standardError)
    }

    /// Starts it with standard input open and silent, hands over its process number, and waits for its end.
    public func run(
        _ arguments: [String], _ body: @Sendable (pid_t) async throws -> Void
    ) async throws -> Int32 {
        let pipe = Pipe()
        defer { try? pipe.fileHandleForWriting.close() }
        let result = try await Subprocess.run(
            .path(.init(try Self.path)), arguments: Arguments(arguments), environment: subprocessEnvironment,
            input: .fileDescriptor(
                .init(rawValue: pipe.fileHandleForReading.fileDescriptor), closeAfterSpawningProcess: false),
            output: .discarded, error: .discarded
        ) { execution in
            try await body(execution.processIdentifier.value)
        }
        return result.terminationStatus.code
    }

    private var subprocessEnvironment: Subprocess.Environment {
        var variables: [Subprocess.Environment.Key: String] = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        for (name, value) in environment {
            if let key = Subprocess.Environment.Key(rawValue: name) { variables[key] = value }
        }
        return .custom(variables)
    }
}

extension TerminationStatus {
    fileprivate var code: Int32 {
        switch self {
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        }
    }
}
