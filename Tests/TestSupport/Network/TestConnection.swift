import COpenSSL

/// The server's side of one connection, plain or encrypted.
package struct TestConnection {
    package let socket: LoopbackSocket
    private let session: OpaquePointer?

    /// - Returns: nil when the TLS handshake fails.
    package init?(_ socket: LoopbackSocket, _ tls: TestTLS?) {
        self.socket = socket
        session = tls?.accept(socket)
        guard tls == nil || session != nil else { return nil }
    }

    /// The next bytes; nil when the client closes the connection earlier.
    package func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var byte: UInt8 = 0
            let count = withUnsafeMutableBytes(of: &byte) { buffer in
                session.map { Int(SSL_read($0, buffer.baseAddress, 1)) } ?? socket.read(buffer)
            }
            guard count == 1 else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// The request up to the empty line; nil when the client closes the connection earlier or does not speak HTTP.
    func readHead() -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1)?.first, byte < 0x80, head.first ?? byte >= 0x20 else { return nil }
            head.append(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }

    package func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            guard let session else {
                _ = socket.write(bytes)
                return
            }
            if !bytes.isEmpty { SSL_write(session, bytes.baseAddress, Int32(bytes.count)) }
        }
    }

    func write(_ text: String) { write(Array(text.utf8)) }

    func waitUntilClosed() { while !socket.isClosed(within: 1000) {} }

    package func close() {
        if let session {
            SSL_shutdown(session)
            SSL_free(session)
        }
        socket.close()
    }

    func reset() {
        if let session { SSL_free(session) }
        socket.reset()
    }
}
