import HTTPTypes
import HummingbirdCore
import NIOCore

/// The response of a stream: its head is written with the first bytes.
struct StreamOutput: ~Copyable {
    private var writer: ResponseWriter?
    private var body: (any ResponseBodyWriter)?
    private let head: HTTPResponse
    private let beginning: [UInt8]
    /// When something was last written.
    private(set) var lastWrite = ContinuousClock.now

    /// - Parameter beginning: what comes before everything else.
    init(_ writer: consuming ResponseWriter, _ head: HTTPResponse, beginning: [UInt8]) {
        self.writer = consume writer
        (self.head, self.beginning) = (head, beginning)
    }

    var hasBegun: Bool { body != nil }

    @concurrent
    mutating func write(_ bytes: ByteBuffer) async throws {
        if let writer = writer.take() {
            body = try await writer.writeHead(head)
            if !beginning.isEmpty { try await body?.write(ByteBuffer(bytes: beginning)) }
        }
        try await body?.write(bytes)
        lastWrite = .now
    }

    @concurrent
    mutating func finish() async throws {
        if let writer = writer.take() { return try await writer.writeResponse(head) }
        try await body?.finish(nil)
    }

    @concurrent
    mutating func refuse(_ reply: Reply, toHead isHead: Bool, _ settings: ServerSettings) async throws {
        guard let writer = writer.take() else { return }
        try await writer.write(reply, toHead: isHead, settings)
    }
}
