import CCurl
import Curl
import QueueExecutor

/// One request over a separate connection, on a separate thread.
///
/// Cancelling the task ends it at once; a mail that waits for its reply, within a second.
actor CurlTransfer {
    private let executor = QueueExecutor(label: "delivery.transfer")
    private let handle = CurlHandle()
    private let endsAtHead: Bool
    private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    private let abortion: CurlHandle.Abortion

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter endsAtHead: whether the head of an HTTP response is all that counts.
    init(endsAtHead: Bool = false, _ configure: (CurlHandle) -> Void) {
        self.endsAtHead = endsAtHead
        (multi, abortion) = (handle.multi, handle.abortion)
        configure(handle)
        handle.start()
    }

    /// Isolated, because closing a TLS connection writes to the network.
    isolated deinit {}

    struct Outcome: Sendable {
        let result: CURLcode
        /// The HTTP status, or the mail server's last reply; 0 if there was none.
        let status: Int
        let retryAfter: Duration?
        let wasRefusedAddress: Bool
        /// What OpenSSL says, if TLS failed.
        let trust: Int
    }

    /// - Throws: `CancellationError`
    func run() async throws -> Outcome {
        try await withTaskCancellationHandler {
            while true {
                handle.perform()
                try Task.checkCancellation()
                if let result = endsAtHead && handle.hasHead ? CURLE_OK : handle.result {
                    return outcome(result)
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
            wasRefusedAddress: handle.wasRefusedAddress, trust: handle[CURLINFO_SSL_VERIFYRESULT])
    }
}
