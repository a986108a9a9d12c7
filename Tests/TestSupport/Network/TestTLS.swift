import COpenSSL
import Glibc

/// The certificate and the key of an encrypting server on loopback.
public final class TestTLS: Sendable {
    private nonisolated(unsafe) let context: OpaquePointer

    struct Failed: Error {}

    /// - Parameters: the paths of PEM files.
    public init(certificate: String, key: String) throws {
        context = SSL_CTX_new(TLS_server_method())
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1,
            SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
        else { throw Failed() }
    }

    deinit { SSL_CTX_free(context) }

    /// The TLS session of a connection after the handshake; nil when the handshake fails.
    func accept(_ socket: LoopbackSocket) -> OpaquePointer? {
        // Without this mask, OpenSSL's writes would end the process with SIGPIPE after the client has closed the connection.
        var pipe = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipe, nil)
        let session = SSL_new(context)
        SSL_set_fd(session, socket.descriptor)
        if SSL_accept(session) == 1 { return session }
        SSL_free(session)
        return nil
    }
}
