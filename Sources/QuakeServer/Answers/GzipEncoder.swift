import CZlib

/// Compresses a stream of bytes with gzip (RFC 1952).
struct GzipEncoder: ~Copyable {
    private let stream: UnsafeMutablePointer<z_stream>
    private static let pieceSize = 64 << 10

    /// - Parameter level: 1 (fastest) to 9 (smallest). The default already shrinks feeds to a fifth.
    init(level: Int32 = 1) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 is the size of the window, in bits. Adding 16 selects the gzip format.
        deflateInit2_(
            stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses these bytes, and returns the compressed bytes that are ready. There may be none yet.
    mutating func compress(_ bytes: [UInt8], isLast: Bool = false) -> [UInt8] {
        var result: [UInt8] = []
        bytes.withUnsafeBufferPointer { input in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(input.count)
            var isFull = true
            while isFull {
                let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { output, count in
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(Self.pieceSize)
                    _ = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    count = Self.pieceSize - Int(stream.pointee.avail_out)
                }
                isFull = piece.count == Self.pieceSize
                result.append(contentsOf: piece)
            }
        }
        return result
    }
}
