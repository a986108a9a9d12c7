import CZlib
import SampleFeed
import Testing

@testable import Feed

@Suite struct GzipTests {
    private static let text = bytes(of: SampleFeed(count: 20))

    @Test func consecutiveMembersAreOneText() async throws {
        let (head, tail) = (Array(Self.text.prefix(5000)), Array(Self.text.dropFirst(5000)))
        #expect(try await inflated([gzip(Self.text)]) == Self.text)
        #expect(try await inflated([gzip(head) + gzip(tail)]) == Self.text)
        #expect(try await inflated([gzip([]) + gzip(head) + gzip([]) + gzip(tail) + gzip([])]) == Self.text)
        #expect(try await inflated([gzip([])]) == [])
    }

    @Test func theTextIsTheSameWhereverTheDataAreCut() async throws {
        let text = Array(Self.text.prefix(2000))
        let data = gzip(text) + gzip([]) + gzip(text) + [0, 0, 0]
        for cut in data.indices {
            guard try await inflated([Array(data[..<cut]), Array(data[cut...])]) != text + text else {
                continue
            }
            Issue.record("cut at \(cut)")
        }
        #expect(try await inflated(data.map { [$0] }) == text + text)
    }

    @Test func aLargeTextIsPassedOnInPieces() async throws {
        let text = [UInt8](repeating: UInt8(ascii: " "), count: 5 << 20)
        var sizes: [Int] = []
        var decoder = ContentDecoder()
        try await decoder.decode(gzip(text)) { sizes.append($0.count) }
        try await decoder.finish { sizes.append($0.count) }
        #expect(sizes.reduce(0, +) == text.count)
        #expect(sizes.allSatisfy { $0 <= 256 << 10 })
    }

    @Test func truncatedDataAreNoticedWhereverTheyEnd() async {
        let data = gzip(Array(Self.text.prefix(500)))
        for count in 2..<data.count {
            let error = await failure { _ = try await inflated([Array(data[..<count])]) }
            guard (error as? FeedError) != .brokenCompression(reason: "it ends too early", offset: count)
            else { continue }
            Issue.record("the first \(count) bytes: \(String(describing: error))")
        }
        let second = await failure { _ = try await inflated([data + data.prefix(7)]) }
        #expect(
            second as? FeedError == .brokenCompression(reason: "it ends too early", offset: data.count + 7))
    }

    /// The test does not change the header (bytes 0 to 9). The decoder ignores its time stamp, flags and system (bytes 4 to 9).
    @Test func aChangedByteIsNoticed() async {
        let data = gzip(Array(Self.text.prefix(500)))
        for index in data.indices where index > 9 {
            var changed = data
            changed[index] ^= 0x10
            guard await failure(of: { _ = try await inflated([changed]) }) == nil else { continue }
            Issue.record("byte \(index)")
        }
    }

    @Test func onlyZerosMayFollowTheData() async throws {
        let data = gzip(Self.text)
        let padding = [UInt8](repeating: 0, count: 600)
        #expect(try await inflated([data + padding]) == Self.text)
        #expect(try await inflated([data, padding, padding]) == Self.text)
        for garbage in [Array("garbage".utf8), [0, 0, 0x1F, 0x8B], [0, 1], [0x1F, 0x8C], Array("{}".utf8)] {
            for chunks in [[data + garbage], [data, garbage], [data] + garbage.map { [$0] }] {
                let error = await failure { _ = try await inflated(chunks) }
                guard case .brokenCompression = error as? FeedError else {
                    Issue.record("\(garbage): \(String(describing: error))")
                    continue
                }
            }
        }
    }

    @Test func inflatingEndsAtTheLimit() async throws {
        let data = gzip([UInt8](repeating: 0, count: 3 << 20))
        var size = 0
        var decoder = GzipDecoder(limit: 3 << 20)
        try await decoder.decode(data) { size += $0.count }
        #expect(size == 3 << 20)

        size = 0
        var limited = GzipDecoder(limit: 3 << 20 - 1)
        do {
            try await limited.decode(data) { size += $0.count }
            Issue.record("not limited")
        } catch {
            #expect("\(error)".contains("it inflates to more than 3145727 bytes"))
        }
        #expect(size < 3 << 20)
    }

    @Test(arguments: [[], [0x1F], Array("{".utf8), Array("{}".utf8), [0x1F, 0x20], [0x8B, 0x1F]])
    func dataThatAreNotGzipPassThrough(data: [UInt8]) async throws {
        #expect(try await inflated([data]) == data)
        #expect(try await inflated(data.map { [$0] }) == data)
        #expect(try await inflated([[], data, []]) == data)
    }

    private func inflated(_ chunks: [[UInt8]]) async throws -> [UInt8] {
        var text: [UInt8] = []
        var decoder = ContentDecoder()
        for chunk in chunks { try await decoder.decode(chunk) { text += $0 } }
        try await decoder.finish { text += $0 }
        return text
    }
}

/// One gzip member.
func gzip(_ text: [UInt8]) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
        &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var text = text
    return [UInt8](unsafeUninitializedCapacity: text.count + 1000) { output, count in
        text.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            deflate(&stream, Z_FINISH)
        }
        count = output.count - Int(stream.avail_out)
    }
}
