import HTTPTypes
import HummingbirdCore
import NIOCore

/// Writes the response to one request: all of it at once, or its head and then its body piece by piece.
struct Output: ~Copyable {
    private var writer: ResponseWriter?
    private var body: (any ResponseBodyWriter)?
    private let metrics: Metrics
    /// The response's status code; 0 before the head is written.
    private(set) var status = 0
    private(set) var lastWrite = ContinuousClock.now

    /// - Parameter metrics: counts the bytes of the body, without the framing of chunks.
    init(_ writer: consuming ResponseWriter, _ metrics: Metrics) {
        self.writer = consume writer
        self.metrics = metrics
    }

    /// Whether the head was written, so that another answer is no longer possible.
    var hasBegun: Bool { status != 0 }

    /// - Parameter bytes: nil for a response without a body.
    @concurrent
    mutating func send(_ head: HTTPResponse, _ bytes: ByteBuffer? = nil) async throws {
        guard let writer = writer.take() else { return }
        status = head.status.code
        guard let bytes else { return try await writer.writeResponse(head) }
        metrics.count { $0.bytes += bytes.readableBytes }
        try await writer.write(response: head, body: ResponseBody(byteBuffer: bytes))
    }

    @concurrent
    mutating func send(_ reply: Reply, toHead isHead: Bool, _ settings: ServerSettings) async throws {
        let isBare = isHead || reply.body.isEmpty
        try await send(HTTPResponse(reply, settings), isBare ? nil : ByteBuffer(bytes: reply.body))
    }

    @concurrent
    mutating func begin(_ head: HTTPResponse) async throws {
        guard let writer = writer.take() else { return }
        status = head.status.code
        body = try await writer.writeHead(head)
    }

    @concurrent
    mutating func write(_ bytes: ByteBuffer) async throws {
        metrics.count { $0.bytes += bytes.readableBytes }
        try await body?.write(bytes)
        lastWrite = .now
    }

    @concurrent
    mutating func finish() async throws { try await body?.finish(nil) }
}
