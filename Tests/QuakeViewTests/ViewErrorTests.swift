import Feed
import Foundation
import GRDB
import QuakeStore
import QuakeView
import Synchronization
import TestSupport
import Testing

@Suite("Files that cannot be views")
struct ViewErrorTests {
    @Test(
        "A second follower of a file is refused while the first one runs, and the error names the first one's process"
    )
    func followedAlready() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            var first: SQLiteView? = try SQLiteView(path)

            let refusal = #expect(throws: Failure.self) { try SQLiteView(path) }
            #expect(
                refusal?.description
                    == "process \(getpid()) already follows into \(path); stop it, or name another file")

            _ = first
            first = nil
            _ = try SQLiteView(path)
        }
    }

    @Test("A file has only one follower, even if it is opened by different paths")
    func otherNames() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            let link = folder.appending(path: "link").path
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "view.sqlite")
            _ = try SQLiteView(path)

            for name in [link, folder.path + "/../" + folder.lastPathComponent + "/view.sqlite"] {
                let first = try SQLiteView(name)
                #expect(throws: Failure.self) { try SQLiteView(path) }
                withExtendedLifetime(first) {}
            }

            #expect(try contents(of: folder)["link.lock"] == nil)
        }
    }

    @Test("A follower of a link to a missing file holds the lock of that file", arguments: [false, true])
    func earlyLink(isRelative: Bool) async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            let link = folder.appending(path: "link").path
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: isRelative ? "view.sqlite" : path)
            let first = try FollowerLock(link)
            #expect(throws: Failure.self) { try FollowerLock(path) }
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            #expect(throws: Failure.self) { try FollowerLock(link) }
            withExtendedLifetime(first) {}

            let loop = folder.appending(path: "loop").path
            try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: "loop")
            _ = try FollowerLock(loop)
        }
    }

    @Test("A new file is created exactly at its path, with any letters in its name")
    func otherLetters() async throws {
        try await withFolder { folder in
            for name in ["ää.sqlite", "地震.sqlite", "e\u{301}.sqlite"] {
                let path = folder.appending(path: "sub\(name)/").path
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                let lock = try FollowerLock("\(path)/\(name)")
                #expect(lock.path.utf8.elementsEqual("\(path)/\(name)".utf8))
                #expect(try contents(of: URL(filePath: path)).keys.map { $0 } == ["\(name).lock"])
            }
        }
    }

    /// refused: closes 7 ─────────── closes 7 once more
    /// another:           opens 7 ─────────────────────── closes 7: Bad file descriptor
    @Test("A refused follower closes only its own file")
    func refusedBesideOthers() async throws {
        try await withFolder { (folder) async throws in
            let path = folder.appending(path: "view.sqlite").path
            // Runs in its own process, because a fault would close files of other tests.
            await #expect(processExitsWith: .success) { [path = path as String] in
                let first = try FollowerLock(path)
                let done = Done()
                async let lost = filesLost(until: done)
                var refusals = 0
                for _ in 0..<20_000 {
                    do {
                        _ = try FollowerLock(path)
                    } catch let failure as Failure where failure.kind == .busy {
                        refusals += 1
                    }
                }
                done.set()
                #expect(refusals == 20_000)
                #expect(await lost == 0)
                withExtendedLifetime(first) {}
            }
        }
    }

    @Test("A follower notices that its file was removed")
    func removed() async throws {
        try await withView { database, path in
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            try await database.importFeatures([SmallFeed.feature("a")])

            try FileManager.default.removeItem(atPath: path)
            let error = await #expect(throws: Failure.self) { try await database.catchUp(view) }

            #expect(
                error?.description == "\(path): the file was removed or replaced; start following again")
            #expect(error?.kind == .file)
        }
    }

    @Test("A follower notices that another program restored the file's content, and changes nothing")
    func restored() async throws {
        try await withView { database, path in
            let view = try SQLiteView(path)
            try await database.catchUp(view)
            let backup = try DatabaseQueue(path: "\(path).backup")
            try DatabaseQueue(path: path).backup(to: backup)
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.catchUp(view)
            let restoring = Restoring(view: view) { try backup.backup(to: DatabaseQueue(path: path)) }
            try await database.importFeatures([SmallFeed.feature("b")])

            let error = await #expect(throws: Failure.self) { try await database.catchUp(restoring) }

            #expect(error == Failure(.file, "\(path): its content was replaced; start following again"))
            try await database.catchUp(view)
            try await database.expectSame(path)
        }
    }

    @Test("The pass after a failed pass succeeds")
    func failedPass() async throws {
        try await withView { database, path in
            let view = try SQLiteView(path)
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.catchUp(view)
            try await DatabaseQueue(path: path).write { db in
                try db.execute(
                    sql:
                        "create trigger refusal after insert on quake begin select raise(abort, 'no more'); end"
                )
            }
            try await database.importFeatures([SmallFeed.feature("b")])
            let error = await #expect(throws: Failure.self) { try await database.catchUp(view) }
            #expect(error?.description.contains("no more") == true && error?.kind == .badData)

            try await DatabaseQueue(path: path).write { try $0.execute(sql: "drop trigger refusal") }
            try await database.catchUp(view)
            try await database.expectSame(path)
        }
    }

    @Test(
        "A file that is not a view is refused with the reason, and nothing is changed",
        arguments: Obstacle.allCases)
    func obstacle(_ obstacle: Obstacle) async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            try await obstacle.make(path)
            let before = try contents(of: folder)

            #expect {
                try SQLiteView(path)
            } throws: { error in
                "\(error)" == obstacle.reason(path)
            }
            #expect(try contents(of: folder) == before)
            #expect {
                try ViewFile(path).forEach(QuakeSelection()) { _ in }
            } throws: { error in
                "\(error)" == obstacle.reason(path)
            }
            #expect(try contents(of: folder) == before)
        }
    }

    enum Obstacle: CaseIterable {
        case otherProgram
        /// The database was not checkpointed, so part of its contents is in the log.
        case otherProgramWithLog
        case otherApplication
        case text
        case folder

        func make(_ path: String) async throws {
            switch self {
            case .otherProgram, .otherProgramWithLog, .otherApplication:
                let aside = path + ".aside"
                var configuration = Configuration()
                configuration.journalMode = self == .otherProgramWithLog ? .wal : .default
                let queue = try DatabaseQueue(path: aside, configuration: configuration)
                try await queue.write { db in
                    try db.execute(sql: "create table position (token integer); create table quake (code)")
                    // Many programs store the version of their own schema in user_version.
                    try db.execute(sql: "pragma user_version = 1")
                    if self == .otherApplication { try db.execute(sql: "pragma application_id = 7") }
                }
                // Copies the files in the state in which a killed program would leave them. Closing the database would empty the
                // log.
                for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: aside + ending) {
                    try FileManager.default.copyItem(atPath: aside + ending, toPath: path + ending)
                }
                try queue.close()
                try FileManager.default.removeItem(atPath: aside)
            case .text:
                try Data("not a database, but long enough to be one".utf8).write(to: URL(filePath: path))
            case .folder:
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
        }

        func reason(_ path: String) -> String {
            switch self {
            case .otherProgram, .otherProgramWithLog, .otherApplication, .text:
                "\(path): it is not a view but another program's file; name another file"
            case .folder: "cannot read \(path): Is a directory"
            }
        }
    }

    /// Damages to a position: a column and its value.
    private static let damages = [
        "store = null", "store = x'ff'", "store = 'no uuid'", "token = null", "token = 'many'",
        "token = 1e300", "token = -1", "committed_at = null", "committed_at = 7",
        "committed_at = 'yesterday'", "nonce = null", "nonce = 'many'",
    ]

    @Test("A damaged position is reported, both to readers of the file and to its follower")
    func damagedPosition() async throws {
        try await withView { database, whole in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.catchUp(SQLiteView(whole))
            try await forEachCase(of: Array(Self.damages.enumerated())) { number, damage in
                let path = "\(whole)\(number)"
                try FileManager.default.copyItem(atPath: whole, toPath: path)
                try await DatabaseQueue(path: path).write { db in
                    try db.execute(
                        sql: """
                            create table other as select * from position;
                            update other set \(damage);
                            drop table position;
                            alter table other rename to position
                            """)
                }
                let message =
                    "\(path): its position is damaged; remove the file, and quakes follow recreates it"

                let followed = await #expect(throws: Failure.self, "\(damage)") {
                    try await database.catchUp(SQLiteView(path))
                }
                #expect(followed?.description == message, "\(damage)")
                #expect(followed?.kind == .badData, "\(damage)")
                let read = #expect(throws: Failure.self, "\(damage)") {
                    try ViewFile(path).forEach(QuakeSelection()) { _ in }
                }
                #expect(read?.description == message, "\(damage)")
            }
        }
    }

    @Test("The error about a row without a time names the column")
    func missingTime() async throws {
        try await withView { database, path in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.catchUp(SQLiteView(path))
            try await DatabaseQueue(path: path).write { try $0.execute(sql: "update quake set time = null") }
            let error = #expect(throws: Failure.self) {
                try ViewFile(path).forEach(QuakeSelection()) { _ in }
            }
            #expect(error?.description == "\(path): column \"time\" is null")
            #expect(error?.kind == .badData)
        }
    }

    @Test("A missing folder gives an error that names the file, and is not created")
    func missingFolder() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "missing/view.sqlite").path

            #expect(throws: Failure(cannot: "open", path + ".lock", code: ENOENT)) {
                try SQLiteView(path)
            }

            #expect(throws: Failure(cannot: "read", path, code: ENOENT)) { try ViewFile(path) }
            let after = try contents(of: folder)
            #expect(after.isEmpty)
        }
    }

    @Test("The error about a file without a snapshot says that the snapshot is missing")
    func noSnapshot() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            try await confirmNoSnapshot(path, Data())
            _ = try SQLiteView(path)
            try await confirmNoSnapshot(path, nil)
        }
    }

    private func confirmNoSnapshot(_ path: String, _ bytes: Data?) async throws {
        try bytes?.write(to: URL(filePath: path))
        let error = #expect(throws: Failure.self) { try ViewFile(path).forEach(QuakeSelection()) { _ in } }
        #expect(error == Failure(.badData, "\(path): it holds no snapshot yet; run quakes follow --view"))
    }

    /// The bytes of each file, by name; nil for a folder.
    private func contents(of folder: URL) throws -> [String: Data?] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, FileManager.default.contents(atPath: folder.appending(path: $0).path))
            })
    }
}

/// Opens and closes files, and counts those that another thread closed in between.
private func filesLost(until done: Done) async -> Int {
    var lost = 0
    while !done.isSet {
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        if close(file) != 0 { lost += 1 }
        await Task.yield()
    }
    return lost
}

/// A view whose file is restored by another program just before each pass is applied.
private struct Restoring: ReaderView {
    let view: SQLiteView
    let restore: @Sendable () throws -> Void

    func position() async throws -> Position? { try await view.position() }
    func accepts(_ table: TableShape) -> Bool { view.accepts(table) }

    func apply(_ pass: Pass) async throws -> Position {
        try restore()
        return try await view.apply(pass)
    }
}
