import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Feed

@Suite struct ReadingTests {
    private static let feed = bytes(of: SampleFeed(count: 1000))

    @Test func aFileIsReadRegardlessOfItsName() async throws {
        try await withTemporaryFolder { folder in
            let plain = folder.appending(path: "feed.gz").path
            let compressed = folder.appending(path: "feed.geojson").path
            try Data(Self.feed).write(to: URL(filePath: plain))
            try Data(gzip(Self.feed)).write(to: URL(filePath: compressed))
            for path in [plain, compressed] {
                var read: [UInt8] = []
                try await FeedSource.file(path).read { read += $0 }
                #expect(read == Self.feed)
            }
        }
    }

    @Test func aSymbolicLinkIsFollowed() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "feed")
            let link = folder.appending(path: "link")
            try Data(Self.feed).write(to: file)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            let contents = try await FeedSource.file(link.path).contents()
            #expect(contents == Self.feed)
        }
    }

    @Test func anEmptyFileHasNoBytes() async throws {
        let contents = try await FeedSource.file("/dev/null").contents()
        #expect(contents == [])
    }

    @Test func theErrorNamesAnUnreadableFileAndTheReason() async throws {
        try await withTemporaryFolder { folder in
            let loop = folder.appending(path: "loop").path
            try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
            let missing = folder.appending(path: "missing").path
            for (path, reason) in [
                (missing, "No such file or directory"), (folder.path, "Is a directory"),
                (loop, "Too many levels of symbolic links"), ("/dev/null/x", "Not a directory"),
                ("", "No such file or directory"),
            ] {
                let error = await failure { _ = try await FeedSource.file(path).contents() }
                #expect(error as? FeedError == .noInput(path: path, reason: reason))
            }
        }
    }

    @Test func aPipeIsReadUntilItsWriterCloses() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "pipe").path
            #expect(mkfifo(path, 0o600) == 0)
            // The pipe is opened for reading too, so that opening it does not wait.
            let writer = FileHandle(fileDescriptor: open(path, O_RDWR), closeOnDealloc: true)
            let thread = Thread {
                for start in stride(from: 0, to: Self.feed.count, by: 1000) {
                    try? writer.write(contentsOf: Self.feed[start..<min(start + 1000, Self.feed.count)])
                }
                // Wait until everything is read, because unread data are lost when the last end of a pipe closes.
                var unread: Int32 = 1
                while unread > 0 { _ = ioctl(writer.fileDescriptor, UInt(FIONREAD), &unread) }
                try? writer.close()
            }
            thread.start()
            let contents = try await FeedSource.file(path).contents()
            #expect(contents == Self.feed)
        }
    }

    /// The writer may open the pipe late or never, so opening it for reading must not block.
    @Test func cancellationEndsTheWaitForASilentPipe() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "pipe").path
            #expect(mkfifo(path, 0o600) == 0)
            for hasWriter in [false, true] {
                let writer = hasWriter ? open(path, O_RDWR) : -1
                defer { if hasWriter { close(writer) } }
                let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
                let reading = Task {
                    continuation.finish()
                    return try await FeedSource.file(path).contents()
                }
                for await _ in begun {}
                reading.cancel()
                let error = await failure { _ = try await reading.value }
                #expect(error is CancellationError)
            }
        }
    }

    @Test func anErrorOfTheReaderEndsTheReading() async throws {
        struct Full: Error {}
        var chunks = 0
        let error = await failure {
            try await FeedSource.file("/dev/zero").read { _ in
                chunks += 1
                throw Full()
            }
        }
        #expect(error is Full)
        #expect(chunks == 1)
    }
}
