import Foundation
import Glibc
import TestSupport
import Testing

/// A careless supervisor may start a program without a standard descriptor. The next file or socket that the program opens then
/// has the number 0, 1 or 2.
@Suite("Closed standard descriptors")
struct DescriptorTests {
    let server = TestServer.shared

    @Test(
        "A command that needs a closed standard descriptor ends with 66 or 74, and damages nothing",
        arguments: [0, 1, 2])
    func everyCommand(_ descriptor: Int) async throws {
        try await withSetting { setting in
            let quakes = setting.quakes.without([descriptor])
            for command in setting.commands {
                let outcome = try await quakes.run(command.arguments, input: setting.document)
                let expected: Int32 =
                    switch descriptor {
                    case 0: command.readsInput ? 66 : 0
                    case 1: command.prints ? 74 : 0
                    default: 0
                    }
                #expect(outcome.status == expected, "\(command.arguments): \(outcome.errors)")
                let text = ["cannot read standard input: ", "cannot write the output: ", ""][descriptor]
                #expect(expected == 0 || outcome.errors.contains(text + "Bad file descriptor"))
                let isSilent = descriptor == 1 || !command.prints || expected != 0
                #expect(outcome.output.isEmpty == isSilent, "\(command.arguments): \(outcome.output)")
            }
            #expect(try await setting.list() == setting.listed)
            // The token file of a stream exists only if the lines of the stream were written.
            #expect(FileManager.default.fileExists(atPath: setting.token) == (descriptor != 1))
            if descriptor != 1 { #expect(try Data(contentsOf: URL(filePath: setting.token)).count < 200) }
        }
    }

    @Test("The private cluster starts and stops without a standard descriptor", arguments: [0, 1, 2])
    func privateCluster(_ descriptor: Int) async throws {
        try await withHome { home in
            let quakes = QuakesCommand(["QUAKES_HOME": home])
            for action in ["status", "url", "start", "start", "status", "stop", "stop"] {
                let outcome = try await quakes.without([descriptor]).run("database", action)
                #expect(outcome.status == (descriptor == 1 ? 74 : 0), "\(action): \(outcome.errors)")
            }
            #expect(try await quakes.run("database", "status").output == "stopped in \(home)\n")
        }
    }

    @Test("A file or a socket never gets the number of a closed standard descriptor")
    func reserved() async throws {
        try await withSetting { setting in
            let arguments = ["follow", "--view", setting.view]
            let status = try await setting.quakes.without([0, 1, 2]).run(arguments) { process in
                // Once the view can be listed, the program has opened all its files and sockets.
                try await waitUntil {
                    try await setting.quakes.run("list", "--view", setting.view).status == 0
                }
                for descriptor in 0...2 {
                    let path = "/proc/\(process)/fd/\(descriptor)"
                    let file = try FileManager.default.destinationOfSymbolicLink(atPath: path)
                    #expect(file == "/dev/null")
                }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
        }
    }

    // MARK: The commands

    private struct Command {
        var arguments: [String]
        var prints = true
        var readsInput = false
    }

    /// A small database in which every command finds something, and the files that commands read and write.
    private struct Setting {
        let database: TestDatabase
        let quakes: QuakesCommand
        let document: String
        let file: String
        let view: String
        let token: String
        let service: [String]
        /// The output of `list` without the event that the test deletes.
        var listed = ""

        var commands: [Command] {
            [
                Command(arguments: ["import", file]),
                Command(arguments: ["import", "-"], readsInput: true),
                Command(arguments: ["backfill"] + service),
                Command(arguments: ["list"]), Command(arguments: ["list", "--format", "csv"]),
                Command(arguments: ["changes"]), Command(arguments: ["changes", "--format", "ndjson"]),
                Command(arguments: ["follow", "--once", "--view", view], prints: false),
                Command(arguments: ["list", "--view", view]),
                Command(arguments: ["follow", "--once", "--format", "ndjson", "--token", token]),
                Command(arguments: ["rejects"]), Command(arguments: ["rejects", "1"]),
                Command(arguments: ["report"]),
                Command(arguments: ["report", "event", "--format", "json"]),
                Command(arguments: ["status"]), Command(arguments: ["delete", "q0spare"]),
                Command(arguments: ["prune", "--keep", "1d"]), Command(arguments: ["migrate"]),
                Command(arguments: ["sample", "--count", "3"]),
            ]
        }

        func list() async throws -> String { try await quakes.run("list", "--format", "ndjson").output }
    }

    private func withSetting(_ body: @Sendable (Setting) async throws -> Void) async throws {
        let features = [SmallFeed.feature("a"), SmallFeed.feature("b", magnitude: "[]")]
        let document = SmallFeed.document(features)
        let service = TestEventService(count: 3, limit: 10)
        try await withFolder { folder in
            try await TestFeedServer.run(answering: service.answer) { http in
                try await server.withDatabase { database in
                    var setting = Setting(
                        database: database, quakes: QuakesCommand(["DATABASE_URL": database.url]),
                        document: document, file: folder.appending(path: "feed").path,
                        view: folder.appending(path: "view").path,
                        token: folder.appending(path: "token").path,
                        service: service.stretch + ["--service", http.url("/fdsnws/event/1"), "--pace", "0s"])
                    try Data(document.utf8).write(to: URL(filePath: setting.file))
                    _ = try await setting.quakes.run("import", setting.file)
                    _ = try await setting.quakes.run(["backfill"] + setting.service)
                    setting.listed = try await setting.list()
                    try await database.importFeatures([SmallFeed.feature("spare")])
                    try await body(setting)
                }
            }
        }
    }
}

extension QuakesCommand {
    /// The command, started with these standard descriptors closed.
    fileprivate func without(_ descriptors: [Int]) -> QuakesCommand {
        let closing = descriptors.map { ["<&-", ">&-", "2>&-"][$0] }.joined(separator: " ")
        var quakes = self
        quakes.launcher = ["sh", "-c", "exec \"$0\" \"$@\" \(closing)"]
        return quakes
    }
}
