import CZlib

/// Inflates gzip data that arrive in chunks and may have several members (RFC 1952).
struct GzipDecoder: ~Copyable {
    /// The default limit of the inflated size: 4 GiB, about five million events. Data that inflate to more count as a bomb.
    static let defaultLimit = 4 << 30
    /// `DescriptorReader.read` explains this size.
    private static let pieceSize = 120 << 10

    private let stream: UnsafeMutablePointer<z_stream>
    private let limit: Int
    private var inflated = 0
    private var consumed = 0
    /// Whether the data may end here: one member is complete, and the next has not begun.
    private var isBetweenMembers = false
    /// Whether zeros follow the last member, as in padded tape archives.
    private var isInPadding = false

    init(limit: Int = defaultLimit) {
        self.limit = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // The window has 15 bits; adding 16 means that only gzip is accepted.
        inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// - Throws: `FeedError.brokenCompression`; any error of `body`.
    mutating func decode(
        _ input: [UInt8], _ body: ([UInt8]) async throws -> Void
    ) async throws {
        var start = 0
        repeat {
            let piece = try inflate(input, &start)
            if !piece.isEmpty { try await body(piece) }
            // After a full piece there may be more output, even if all input has been consumed.
            if piece.count < Self.pieceSize, start == input.count { return }
        } while true
    }

    func finish() throws {
        guard isBetweenMembers else { throw broken("it ends too early") }
    }

    private mutating func inflate(_ input: [UInt8], _ start: inout Int) throws -> [UInt8] {
        if isBetweenMembers {
            guard start < input.count else { return [] }
            try beginMember(input, &start)
            if isInPadding { return [] }
        }
        let available = input.count - start
        var status = Z_OK
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { output, count in
            input.withUnsafeBufferPointer { input in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress.map { $0 + start })
                stream.pointee.avail_in = UInt32(available)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(Self.pieceSize)
                status = CZlib.inflate(stream, Z_NO_FLUSH)
            }
            count = Self.pieceSize - Int(stream.pointee.avail_out)
        }
        let taken = available - Int(stream.pointee.avail_in)
        start += taken
        consumed += taken
        inflated += piece.count
        switch status {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: isBetweenMembers = true
        default: throw broken(stream.pointee.msg.map { String(cString: $0) } ?? "error \(status)")
        }
        guard inflated <= limit else { throw broken("it inflates to more than \(limit) bytes") }
        return piece
    }

    private mutating func beginMember(_ input: [UInt8], _ start: inout Int) throws {
        if isInPadding || input[start] == 0 {
            isInPadding = true
            guard input[start...].allSatisfy({ $0 == 0 }) else { throw broken("other data follow it") }
            consumed += input.count - start
            start = input.count
            return
        }
        guard input[start] == 0x1F else { throw broken("other data follow it") }
        inflateReset(stream)
        isBetweenMembers = false
    }

    private func broken(_ reason: String) -> FeedError {
        .brokenCompression(reason: reason, offset: consumed)
    }
}

/// Inflates a feed if its first two bytes are those of gzip, regardless of its name and headers. Otherwise passes the feed
/// through unchanged.
struct ContentDecoder: ~Copyable {
    private let limit: Int
    private var gzip: GzipDecoder?
    private var isDecided = false
    /// The feed's first byte, if it arrived alone.
    private var held: [UInt8] = []

    init(limit: Int = GzipDecoder.defaultLimit) {
        self.limit = limit
    }

    mutating func decode(_ chunk: [UInt8], _ body: ([UInt8]) async throws -> Void) async throws {
        var chunk = chunk
        if !isDecided {
            chunk = held + chunk
            guard chunk.count >= 2 else {
                held = chunk
                return
            }
            held = []
            isDecided = true
            if chunk.starts(with: [0x1F, 0x8B]) { gzip = GzipDecoder(limit: limit) }
        }
        if gzip != nil {
            try await gzip!.decode(chunk, body)
        } else {
            try await body(chunk)
        }
    }

    mutating func finish(_ body: ([UInt8]) async throws -> Void) async throws {
        if !held.isEmpty { try await body(held) }
        if gzip != nil { try gzip!.finish() }
    }
}
