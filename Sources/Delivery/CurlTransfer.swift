import CCurl
import Curl
import QueueExecutor

/// One request over a separate connection, on a separate thread.
///
/// Cancelling the task ends the request at once, or within a second if a mail waits for the server's reply.
actor CurlTransfer {
    private let executor = QueueExecutor(label: "delivery.transfer")
    private let handle = CurlHandle()
    private let endsAtHead: Bool
    private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    private let abortion: CurlHandle.Abortion

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter endsAtHead: whether the request is complete when the head of the HTTP response has arrived.
    init(endsAtHead: Bool = false, _ configure: (CurlHandle) -> Void) {
        self.endsAtHead = endsAtHead
        (multi, abortion) = (handle.multi, handle.abortion)
        configure(handle)
        handle.start()
    }

    /// Runs on the transfer's thread, because closing a TLS connection writes to the network.
    isolated deinit {}

    struct Outcome: Sendable {
        let result: CURLcode
        /// The HTTP status, or the mail server's last reply; 0 if there was none.
        let status: Int
        let retryAfter: Duration?
        /// Whether the connection was made, including TLS.
        let wasConnected: Bool
        let wasRefusedAddress: Bool
        let hasSentMail: Bool
        /// OpenSSL's result of verifying the certificate.
        let trust: Int
    }

    /// - Throws: `CancellationError`
    func run() async throws -> Outcome {
        try await withTaskCancellationHandler {
            while true {
                handle.perform()
                try Task.checkCancellation()
                if endsAtHead, handle.hasHead { return outcome(CURLE_OK) }
                if let result = handle.result {
                    // For libcurl, a head that is cut off is complete.
                    return outcome(endsAtHead && result == CURLE_OK ? CURLE_GOT_NOTHING : result)
                }
                handle.wait(.seconds(1))
            }
        } onCancel: {
            abortion.ask()
            curl_multi_wakeup(multi)
        }
    }

    private func outcome(_ result: CURLcode) -> Outcome {
        let fields = handle.fields
        func field(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
        return Outcome(
            result: result, status: handle[CURLINFO_RESPONSE_CODE],
            retryAfter: field("retry-after").flatMap { retryAfter($0, date: field("date")) },
            wasConnected: handle[CURLINFO_PRETRANSFER_TIME_T] > 0,
            wasRefusedAddress: handle.wasRefusedAddress, hasSentMail: handle.hasSentMail,
            trust: handle[CURLINFO_SSL_VERIFYRESULT])
    }
}
