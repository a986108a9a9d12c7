/// Which proxy a request goes through. The environment decides: `http_proxy`, `https_proxy` or `HTTPS_PROXY`, and
/// `all_proxy` or `ALL_PROXY`. `no_proxy` or `NO_PROXY` lists the hosts, domains, addresses and networks that are reached
/// directly, in libcurl's form (https://curl.se/libcurl/c/CURLOPT_NOPROXY.html); `*` means all.
///
/// `HTTP_PROXY` is ignored: a CGI server sets it from a request's header (https://httpoxy.org). Servers on this machine's
/// loopback are always reached directly.
public struct ProxySettings: Sendable {
    private let environment: [String: String]

    public init(environment: [String: String]) {
        self.environment = environment
    }

    /// The proxy for a URL, unless `exceptions` has its host; redirects go the same way.
    func proxy(for target: HTTPTarget) throws(FetchFailure) -> Proxy? {
        let names = target.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard let (name, value) = variable(names + ["all_proxy", "ALL_PROXY"]) else { return nil }
        guard let proxy = Proxy(value) else {
            throw FetchFailure(
                "\(name) is not of the form http://HOST:PORT; other kinds of proxies are not supported")
        }
        return proxy
    }

    /// The hosts that are reached directly.
    var exceptions: String {
        let given = variable(["no_proxy", "NO_PROXY"])?.value ?? ""
        // libcurl takes * only alone.
        return given.split(whereSeparator: { $0 == "," || $0.isWhitespace }).contains("*")
            ? "*" : "localhost,127.0.0.0/8,::1,\(given)"
    }

    private func variable(_ names: [String]) -> (name: String, value: String)? {
        for name in names {
            if let value = environment[name]?.trimmed, !value.isEmpty { return (name, value) }
        }
        return nil
    }
}

/// An HTTP proxy.
struct Proxy: Sendable, Equatable, CustomStringConvertible {
    /// `http://HOST:PORT`.
    let url: String
    let user: String?
    let password: String

    /// Reads `[http://][USER:PASSWORD@]HOST[:PORT]`. The default port is 80.
    init?(_ text: String) {
        let given = text.contains("://") ? text : "http://\(text)"
        guard let target = HTTPTarget(given), !target.isSecure else { return nil }
        url = "http://\(target.authority)" + (target.authority.contains(#/:\d+$/#) ? "" : ":80")
        (user, password) = given.userInfo.map { ($0.user, $0.password) } ?? (nil, "")
    }

    var description: String { String(url.dropFirst("http://".count)) }
}
