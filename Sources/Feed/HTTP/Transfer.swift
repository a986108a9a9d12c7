import CCurl
import Curl
import QueueExecutor

/// One request and its response, over a separate connection and on a separate thread.
///
/// libcurl works only while the reader waits for bytes. So the network delivers no more than the reader wants, and the
/// time that the reader takes for its own work does not count as the server's silence.
///
/// Cancelling the task ends a wait at once. The connection is closed when the transfer is released.
actor Transfer {
    private let executor = QueueExecutor(label: "feed.transfer")
    private let handle: CurlHandle
    private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    private let exchange: HTTPExchange

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ exchange: HTTPExchange) {
        self.exchange = exchange
        handle = CurlHandle()
        multi = handle.multi
        exchange.configure(handle)
        handle.start()
    }

    /// Isolated, because closing a TLS connection writes to the network, and that must not block Swift's cooperative pool.
    isolated deinit {}

    func head() async throws -> HTTPHead {
        try await work(
            atMost: exchange.options.headTimeout,
            else: "no answer within \(exchange.options.headTimeout.inWords)"
        ) { handle.hasHead }
        // For libcurl, a connection that ends within the head is complete.
        guard handle.hasHead else {
            throw FetchFailure("the connection ended before the answer did", isPassing: true)
        }
        return HTTPHead(
            status: handle[CURLINFO_RESPONSE_CODE], line: handle.statusLine, fields: handle.fields)
    }

    /// The next bytes of the body; nil at its end.
    func chunk() async throws -> [UInt8]? {
        try await work(
            atMost: exchange.options.readTimeout,
            else: "no bytes arrived for \(exchange.options.readTimeout.inWords)"
        ) { !handle.bytes.isEmpty }
        defer { handle.bytes = [] }
        return handle.bytes.isEmpty ? nil : handle.bytes
    }

    private func work(atMost limit: Duration, else reason: String, until isEnough: () -> Bool) async throws {
        let now = exchange.options.now
        let deadline = now() + limit
        try await withTaskCancellationHandler {
            while true {
                try Task.checkCancellation()
                if isEnough() { return }
                handle.perform()
                if isEnough() || handle.result == CURLE_OK { return }
                if let result = handle.result { throw FetchFailure(result, handle, exchange) }
                let left = deadline - now()
                guard left > .zero else { throw FetchFailure(reason, isPassing: true) }
                handle.wait(left)
            }
        } onCancel: {
            curl_multi_wakeup(multi)
        }
    }
}
