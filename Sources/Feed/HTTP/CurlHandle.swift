import CCurl

/// libcurl's handles for one transfer, and what it has received. Only one thread at a time may use them. Waking up is
/// the exception: any thread may do that.
///
/// A transfer does not depend on the process's environment, on a `.netrc` file or on earlier transfers.
final class CurlHandle {
    var bytes: [UInt8] = []
    /// Such as `HTTP/1.1 200 OK`.
    private var statusLine = ""
    /// Whether the final head has arrived. Anything later that looks like one is a trailer.
    private(set) var hasHead = false
    /// nil while the transfer lasts.
    private(set) var result: CURLcode?

    let multi: UnsafeMutableRawPointer
    private let easy: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var fields: UnsafeMutablePointer<curl_slist>?

    private static let isReady: Void = { curl_global_init(Int(CURL_GLOBAL_ALL)) }()

    init() {
        Self.isReady
        // libcurl fails here only if there is no memory left.
        easy = curl_easy_init()!
        multi = curl_multi_init()!
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        let this = Unmanaged.passUnretained(self).toOpaque()
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
        curl_multi_remove_handle(multi, easy)
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        curl_slist_free_all(fields)
        errorText.deallocate()
    }

    private func take(line: UnsafeRawBufferPointer) {
        if line.starts(with: "HTTP/".utf8) {
            statusLine = String(decoding: line, as: UTF8.self)
        } else if line.count <= 2, self[CURLINFO_RESPONSE_CODE] >= 200 {
            hasHead = true
        }
    }

    func set(_ option: CURLoption, _ value: Int) { ccurl_set_long(easy, option, value) }

    /// libcurl copies the text.
    func set(_ option: CURLoption, _ value: String) { ccurl_set_pointer(easy, option, value) }

    func set(_ option: CURLoption, _ value: [UInt8]) { ccurl_set_bytes(easy, option, value, value.count) }

    func set(fields lines: [String]) {
        for line in lines { fields = curl_slist_append(fields, line) }
        ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, fields)
    }

    func start() { curl_multi_add_handle(multi, easy) }

    /// Works without waiting, until a good piece of the body has arrived. One call of libcurl fills its buffer of 16 KB up to a
    /// hundred times.
    func perform() {
        var count: Int32 = 0
        var before = 0
        repeat {
            before = bytes.count
            curl_multi_perform(multi, &count)
        } while bytes.count > before && bytes.count < 256 << 10
        while let message = curl_multi_info_read(multi, &count) {
            if message.pointee.msg == CURLMSG_DONE { result = message.pointee.data.result }
        }
    }

    func wait(_ limit: Duration) {
        let milliseconds = min(1000, limit / .milliseconds(1)).rounded(.up)
        curl_multi_poll(multi, nil, 0, Int32(milliseconds), nil)
    }

    subscript(info: CURLINFO) -> Int { ccurl_get_long(easy, info) }

    var failure: String {
        let text = String(cString: errorText)
        return text.isEmpty ? String(cString: curl_easy_strerror(result ?? CURLE_OK)) : text
    }

    /// The final head. The fields of earlier heads, of trailers and of a proxy's answer are left out.
    var head: HTTPHead {
        var fields: [(name: String, value: String)] = []
        var field: UnsafeMutablePointer<curl_header>?
        while let next = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), -1, field) {
            fields.append((String(cString: next.pointee.name), String(cString: next.pointee.value)))
            field = next
        }
        return HTTPHead(status: self[CURLINFO_RESPONSE_CODE], line: statusLine, fields: fields)
    }
}
