import CCurl
import Glibc
import Synchronization

/// libcurl's handles for one transfer, and the bytes that the transfer has received. Only one thread at a time may use a
/// `CurlHandle`, but any thread may call `curl_multi_wakeup`.
///
/// A transfer does not depend on the process's environment, on a `.netrc` file or on earlier transfers. It does not follow
/// redirects, and uses a proxy only if one is set.
package final class CurlHandle {
    package var bytes: [UInt8] = []
    /// The status line of the head, such as `HTTP/1.1 200 OK`.
    package private(set) var statusLine = ""
    /// Whether the final head has arrived. Later header lines are trailers.
    package private(set) var hasHead = false
    /// The result of the transfer; nil until the transfer has ended.
    package private(set) var result: CURLcode?
    /// Whether an address was refused because it is not public.
    package private(set) var wasRefusedAddress = false

    package let multi: UnsafeMutableRawPointer
    /// Ends the transfer of a mail, even while `perform` blocks in libcurl until the server replies to the end of the mail.
    package let abortion = Abortion()
    private let easy: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    /// The mail to send. The bytes from `position` on have not been sent yet.
    private var mail: [UInt8] = []
    private var position = 0
    /// Whether at least the beginning of the mail was sent.
    package var hasSentMail: Bool { position > 0 }

    private static let isReady: Void = { curl_global_init(Int(CURL_GLOBAL_ALL)) }()

    package init() {
        Self.isReady
        // These calls fail only if there is no memory left.
        easy = curl_easy_init()!
        multi = curl_multi_init()!
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        set(CURLOPT_NOSIGNAL, 1)
        // After a timeout, libcurl does not wait for the thread of a name lookup that is still running.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // If these options were unset instead of empty, libcurl would read them from the environment.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOPROXY, "")
        ccurl_set_pointer(easy, CURLOPT_WRITEDATA, this)
        ccurl_set_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, this in
            let this = Unmanaged<CurlHandle>.fromOpaque(this!).takeUnretainedValue()
            this.bytes += UnsafeRawBufferPointer(start: bytes, count: size * count)
            return size * count
        }
        ccurl_set_pointer(easy, CURLOPT_HEADERDATA, this)
        ccurl_set_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, this in
            let this = Unmanaged<CurlHandle>.fromOpaque(this!).takeUnretainedValue()
            this.take(line: UnsafeRawBufferPointer(start: bytes, count: size * count))
            return size * count
        }
    }

    deinit {
        withoutBrokenPipes {
            curl_multi_remove_handle(multi, easy)
            curl_easy_cleanup(easy)
            curl_multi_cleanup(multi)
        }
        for list in lists { curl_slist_free_all(list) }
        errorText.deallocate()
    }

    private var this: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private func take(line: UnsafeRawBufferPointer) {
        if line.starts(with: "HTTP/".utf8) {
            statusLine = String(decoding: line, as: UTF8.self)
        } else if line.count <= 2, self[CURLINFO_RESPONSE_CODE] >= 200 {
            hasHead = true
        }
    }

    // MARK: Options

    package func set(_ option: CURLoption, _ value: Int) { ccurl_set_long(easy, option, value) }

    /// libcurl copies the text.
    package func set(_ option: CURLoption, _ value: String) { ccurl_set_pointer(easy, option, value) }

    /// libcurl copies the bytes.
    package func set(_ option: CURLoption, _ value: [UInt8]) {
        ccurl_set_bytes(easy, option, value, value.count)
    }

    package func set(_ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = curl_slist_append(list, line) }
        ccurl_set_pointer(easy, option, list)
        if let list { lists.append(list) }
    }

    /// Sets a duration in milliseconds. The number is at least 1, because 0 would select libcurl's default.
    package func set(_ option: CURLoption, _ value: Duration) {
        set(option, max(1, Int((value / .milliseconds(1)).rounded(.up))))
    }

    /// Sets the body of a POST request. libcurl copies it.
    package func set(body: [UInt8]) {
        set(CURLOPT_POSTFIELDSIZE, body.count)
        body.withUnsafeBytes { _ = ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
    }

    /// Sets the mail to send, in lines that end in CRLF. libcurl doubles the dots at the start of lines.
    package func set(mail: [UInt8]) {
        self.mail = mail
        set(CURLOPT_UPLOAD, 1)
        ccurl_set_pointer(easy, CURLOPT_READDATA, this)
        ccurl_set_callback(easy, CURLOPT_READFUNCTION) { buffer, size, count, this in
            let this = Unmanaged<CurlHandle>.fromOpaque(this!).takeUnretainedValue()
            let part = this.mail[this.position...].prefix(size * count)
            UnsafeMutableRawBufferPointer(start: buffer, count: size * count).copyBytes(from: part)
            this.position += part.count
            return part.count
        }
        set(CURLOPT_NOPROGRESS, 0)
        ccurl_set_pointer(easy, CURLOPT_XFERINFODATA, Unmanaged.passUnretained(abortion).toOpaque())
        ccurl_set_progress(easy) { abortion, _, _, _, _ in
            Unmanaged<Abortion>.fromOpaque(abortion!).takeUnretainedValue().isAsked ? 1 : 0
        }
    }

    package final class Abortion: Sendable {
        private let flag = Atomic(false)

        package func ask() { flag.store(true, ordering: .relaxed) }

        fileprivate var isAsked: Bool { flag.load(ordering: .relaxed) }
    }

    /// Refuses to connect to addresses that are not public.
    package func refusePrivateAddresses() {
        ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, this)
        ccurl_set_open_socket(easy) { this, purpose, address in
            let this = Unmanaged<CurlHandle>.fromOpaque(this!).takeUnretainedValue()
            let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
            guard let address,
                IPAddress(socketAddress: UnsafeRawPointer(address) + offset)?.isPublic == true
            else {
                this.wasRefusedAddress = true
                return CURL_SOCKET_BAD
            }
            return socket(
                address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
                address.pointee.protocol)
        }
    }

    // MARK: Working

    package func start() { curl_multi_add_handle(multi, easy) }

    /// Transfers bytes without waiting, until at least 256 KiB of the body have arrived or no more bytes are available. A single
    /// call of `curl_multi_perform` may fill libcurl's buffer of 16 KB a hundred times.
    package func perform() {
        var count: Int32 = 0
        var before = 0
        withoutBrokenPipes {
            repeat {
                before = bytes.count
                curl_multi_perform(multi, &count)
            } while bytes.count > before && bytes.count < 256 << 10
        }
        while let message = curl_multi_info_read(multi, &count) {
            if message.pointee.msg == CURLMSG_DONE { result = message.pointee.data.result }
        }
    }

    package func wait(_ limit: Duration) {
        let milliseconds = min(1000, limit / .milliseconds(1)).rounded(.up)
        curl_multi_poll(multi, nil, 0, Int32(milliseconds), nil)
    }

    // MARK: Results

    package subscript(info: CURLINFO) -> Int { ccurl_get_long(easy, info) }

    package var failure: String {
        let text = String(cString: errorText)
        return text.isEmpty ? String(cString: curl_easy_strerror(result ?? CURLE_OK)) : text
    }

    /// The fields of the final head, without those of earlier heads, trailers and a proxy's response.
    package var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        var field: UnsafeMutablePointer<curl_header>?
        while let next = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), -1, field) {
            fields.append((String(cString: next.pointee.name), String(cString: next.pointee.value)))
            field = next
        }
        return fields
    }
}

/// Blocks SIGPIPE while `body` runs: OpenSSL writes to closed connections without suppressing this signal, which would end the
/// process.
private func withoutBrokenPipes(_ body: () -> Void) {
    var (pipe, before) = (sigset_t(), sigset_t())
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, &before)
    body()
    if sigismember(&before, SIGPIPE) == 0 {
        var none = timespec()
        while sigtimedwait(&pipe, nil, &none) > 0 {}
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
}
