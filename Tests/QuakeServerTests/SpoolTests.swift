import NIOCore
import TestSupport
import Testing

@testable import QuakeServer

@Suite("The spool of an answer")
struct SpoolTests {
    private let metrics = Metrics()

    private func bytes(_ count: Int, _ number: UInt8) -> [UInt8] { Array(repeating: number, count: count) }

    /// Reads all bytes up to the end.
    private func all(_ reader: Spool.Reader) async throws -> [UInt8] {
        var all: [UInt8] = []
        while let piece = try await reader.next() { all += piece.readableBytesView }
        return all
    }

    @Test("All pieces but the newest are in the file, and every reader gets all bytes in order")
    func order() async throws {
        let quota = SpoolQuota(1 << 20, metrics)
        let spool = Spool(in: quota, keptForOthers: 1 << 20)
        let early = try spool.reader(closing: {}).unwrapped
        try spool.append(bytes(1000, 1))
        #expect(quota.bytes == 0)
        try spool.append(bytes(2000, 2))
        #expect(try await early.next()?.readableBytes == 1000)
        try spool.append(bytes(3000, 3), isLast: true)
        #expect(quota.bytes == 3000)
        let late = try spool.reader(closing: {}).unwrapped
        let rest = bytes(2000, 2) + bytes(3000, 3)
        #expect(try await all(early) == rest)
        #expect(try await all(late) == bytes(1000, 1) + rest)
        early.leave()
        #expect(quota.bytes == 3000)
        late.leave()
        #expect(quota.bytes == 0)
    }

    @Test(
        "When a client has read everything so far, the file is released, even if the answer is still being written"
    )
    func caughtUp() async throws {
        let quota = SpoolQuota(1 << 20, metrics)
        let spool = Spool(in: quota)
        let reader = try spool.reader(closing: {}).unwrapped
        for number in 1...3 { try spool.append(bytes(1000, UInt8(number))) }
        #expect(quota.bytes == 2000)
        for _ in 0..<2 { _ = try await reader.next() }
        try spool.append(bytes(1000, 4))
        #expect(quota.bytes == 0)
        try spool.append(bytes(1000, 5), isLast: true)
        #expect(quota.bytes == 1000)
        #expect(try await all(reader) == bytes(1000, 4) + bytes(1000, 5))
        reader.leave()
        #expect(quota.bytes == 0)
    }

    @Test("When the quota is used up, a client that reads nothing is dropped, and a quick client is not")
    func quota() async throws {
        let quota = SpoolQuota(7600, metrics)
        let slow = Spool(in: quota)
        let slowReader = try slow.reader(closing: {}).unwrapped
        for _ in 1...8 { try slow.append(bytes(1000, 1)) }
        let quick = Spool(in: quota)
        let quickReader = try quick.reader(closing: {}).unwrapped
        for number in 1...8 {
            try quick.append(bytes(500, UInt8(number)))
            try quick.append(bytes(500, UInt8(number)))
            _ = try await quickReader.next()
        }
        #expect(metrics.current.slowClients == 1)
        await #expect(throws: CancellationError.self) { try await slowReader.next() }
        #expect(throws: CancellationError.self) { try slow.append([1]) }
        quickReader.leave()
        #expect(quota.bytes == 0)
    }

    @Test("A long shared answer frees bytes that its reader has read, and accepts no further readers")
    func long() async throws {
        let quota = SpoolQuota(40 << 20, metrics)
        let spool = Spool(in: quota, keptForOthers: 2 << 20)
        let reader = try spool.reader(closing: {}).unwrapped
        var (written, read) = (0, 0)
        // The reader stays about 5 MiB behind.
        while written < 100 << 20 {
            try spool.append(bytes(1 << 20, 1))
            written += 1 << 20
            while read < written - 5 << 20 { read += try await reader.next()?.readableBytes ?? 0 }
        }
        spool.finish()
        #expect(quota.bytes < 30 << 20)
        #expect(spool.reader(closing: {}) == nil)
        #expect(try await read + all(reader).count == written)
        reader.leave()
        #expect(quota.bytes == 0)
    }

    @Test("If no slow client can be dropped, an answer beyond the quota is refused")
    func full() async throws {
        let quota = SpoolQuota(1500, metrics)
        let spool = Spool(in: quota, keptForOthers: 1 << 20)
        let reader = try spool.reader(closing: {}).unwrapped
        try spool.append(bytes(1000, 1))
        try spool.append(bytes(1000, 2))
        for _ in 0..<2 { _ = try await reader.next() }
        #expect(throws: Refusal.unavailable("The server has no room for the answer.")) {
            try spool.append(bytes(1000, 3))
        }
        #expect(metrics.current.slowClients == 0)
        reader.leave()
    }
}
