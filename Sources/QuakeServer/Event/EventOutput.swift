import Synchronization

/// Collects an answer's bytes, and hands them on in chunks.
final class EventOutput: Sendable {
    static let chunk = 64 << 10
    private let bytes = Mutex<[UInt8]>([])
    private let write: @Sendable ([UInt8]) throws -> Void

    init(_ write: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.write = write
    }

    /// - Parameter body: appends to the bytes.
    func append(_ body: (inout [UInt8]) throws -> Void) throws {
        let full: [UInt8]? = try bytes.withLock { bytes in
            try body(&bytes)
            guard bytes.count >= Self.chunk else { return nil }
            defer {
                bytes = []
                bytes.reserveCapacity(Self.chunk + (4 << 10))
            }
            return bytes
        }
        if let full { try write(full) }
    }

    func append(_ text: String) throws {
        try append { $0.append(text: text) }
    }

    /// Hands on what is left.
    func finish() throws {
        let rest = bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
        if !rest.isEmpty { try write(rest) }
    }
}
