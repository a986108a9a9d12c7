import Foundation
import Glibc
import Subprocess

/// The real executable, as a user runs it.
public struct QuakesCommand: Sendable {
    public struct Outcome: Sendable {
        /// The exit code, or 128 and the signal's number.
        public let status: Int32
        public let output: String
        public let errors: String
    }

    /// Further environment variables. Only a few variables of the caller's environment are passed on.
    public var environment: [String: String]
    /// A command that replaces itself with the executable, such as `prlimit --fsize=0`; empty for a direct start.
    public var launcher: [String] = []

    /// A launcher that writes the executable's standard error to a file. Append the file's path.
    public static let intoFile = ["sh", "-c", #"exec "$@" 2>"$0""#]

    public init(_ environment: [String: String] = [:]) {
        self.environment = environment
    }

    /// The path of the executable `quakes`, which is in the same folder as the test runner.
    public static var path: String {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(filePath: tests).deletingLastPathComponent().appending(path: "quakes").path
        }
    }

    /// Runs the executable to its end.
    ///
    /// - Parameter input: the text on standard input. The executable does not have to read it.
    public func run(_ arguments: String..., input: String = "") async throws -> Outcome {
        try await run(arguments, input: input)
    }

    /// Runs the executable to its end.
    public func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        let (program, arguments) = try launched(arguments)
        Self.ignoreBrokenPipes
        let result = try await Subprocess.run(
            program, arguments: arguments, environment: subprocessEnvironment, input: .inputWriter,
            output: .string(limit: 64 << 20), error: .string(limit: 1 << 20)
        ) { execution in
            do {
                _ = try await execution.standardInputWriter.write(input)
            } catch let error as SubprocessError where error.underlyingError == .brokenPipe {
                // The executable ended without reading all of its input; its outcome says why. If the input were passed as a
                // string, Subprocess would end this process (https://github.com/swiftlang/swift-subprocess/issues/367).
            }
        }
        return Outcome(
            status: result.terminationStatus.code, output: result.standardOutput,
            errors: result.standardError)
    }

    /// Makes a write to a program that has ended fail with an error instead of a signal.
    private static let ignoreBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    /// Starts the executable, passes its process id to `body`, and waits for its end. Standard input stays open without data.
    public func run(
        _ arguments: [String], _ body: @Sendable (pid_t) async throws -> Void
    ) async throws -> Int32 {
        let nowhere = FileHandle(forWritingAtPath: "/dev/null")!
        return try await run(arguments, writingTo: nowhere, body).status
    }

    /// Runs the executable like the method above, with its standard output connected to an open file or pipe. The file or pipe
    /// stays open.
    public func run(
        _ arguments: [String], writingTo output: FileHandle, _ body: @Sendable (pid_t) async throws -> Void
    ) async throws -> Outcome {
        let pipe = Pipe()
        let (program, arguments) = try launched(arguments)
        let result = try await Subprocess.run(
            program, arguments: arguments, environment: subprocessEnvironment,
            input: .fileDescriptor(
                .init(rawValue: pipe.fileHandleForReading.fileDescriptor), closeAfterSpawningProcess: false),
            output: .fileDescriptor(
                .init(rawValue: output.fileDescriptor), closeAfterSpawningProcess: false),
            error: .string(limit: 1 << 20)
        ) { execution in
            try await body(execution.processIdentifier.value)
        }
        try pipe.fileHandleForWriting.close()
        return Outcome(status: result.terminationStatus.code, output: "", errors: result.standardError)
    }

    private func launched(_ arguments: [String]) throws -> (Executable, Arguments) {
        let all = launcher + [try Self.path] + arguments
        return (
            all[0].contains("/") ? .path(.init(all[0])) : .name(all[0]), Arguments(Array(all.dropFirst()))
        )
    }

    private var subprocessEnvironment: Subprocess.Environment {
        var variables: [Subprocess.Environment.Key: String] = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        // The variables say which server the tests use and how a sanitizer behaves.
        for name in ["QUAKES_POSTGRES", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS", "SWIFT_BACKTRACE"] {
            if let value = getenv(name), let key = Subprocess.Environment.Key(rawValue: name) {
                variables[key] = String(cString: value)
            }
        }
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
