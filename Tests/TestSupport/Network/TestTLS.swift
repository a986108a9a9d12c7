import COpenSSL
import Glibc

/// What a server on loopback needs to encrypt: a certificate and its key.
public final class TestTLS: Sendable {
    private nonisolated(unsafe) let context: OpaquePointer

    struct Failed: Error {}

    /// - Parameters: paths of PEM files.
    public init(certificate: String, key: String) throws {
        context = SSL_CTX_new(TLS_server_method())
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1,
            SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
        else { throw Failed() }
    }

    deinit { SSL_CTX_free(context) }

    /// A connection's encryption after the handshake; nil when that fails.
    func accept(_ socket: LoopbackSocket) -> OpaquePointer? {
        // OpenSSL's writes would end the process when the client is gone.
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
