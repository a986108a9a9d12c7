import Glibc

/// Finds the proxy for a request. It is set by environment variables: `http_proxy`, `https_proxy` or `HTTPS_PROXY`, and
/// `all_proxy` or `ALL_PROXY`. `no_proxy` or `NO_PROXY` lists the hosts, domains, addresses and networks that are reached
/// directly; `*` means all.
///
/// `HTTP_PROXY` is ignored: a CGI server sets it from a request's header (https://httpoxy.org). Servers on this machine's
/// loopback are always reached directly.
public struct ProxySettings: Sendable {
    private let environment: [String: String]

    public init(environment: [String: String]) {
        self.environment = environment
    }

    func proxy(for target: HTTPTarget) throws(FetchFailure) -> Proxy? {
        guard
            let (name, value) = variable(
                (target.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"])
                    + ["all_proxy", "ALL_PROXY"]),
            !isReachedDirectly(target)
        else { return nil }
        guard let proxy = Proxy(value) else {
            throw FetchFailure(
                "\(name) is not of the form http://HOST:PORT; other kinds of proxies are not supported")
        }
        return proxy
    }

    private func variable(_ names: [String]) -> (name: String, value: String)? {
        for name in names {
            if let value = environment[name]?.trimmed, !value.isEmpty { return (name, value) }
        }
        return nil
    }

    private func isReachedDirectly(_ target: HTTPTarget) -> Bool {
        let host = target.host
        let address = ipAddress(host)
        if host == "localhost" || host.hasSuffix(".localhost") || address?.isLoopback == true { return true }
        let list = variable(["no_proxy", "NO_PROXY"])?.value.lowercased() ?? ""
        return list.split(whereSeparator: { $0 == "," || $0.isWhitespace }).contains { entry in
            if entry == "*" { return true }
            // An IPv6 address with a port is in brackets: `[2001:db8::1]:8080`.
            let withPort = entry.wholeMatch(of: #/(\[.*\]):(\d+)/#)
            if let withPort, Int(withPort.2) != target.port { return false }
            let parts = (withPort?.1 ?? entry).split(separator: "/", omittingEmptySubsequences: false)
            if let network = ipAddress(parts[0].filter { $0 != "[" && $0 != "]" }) {
                let isLong = parts[0].contains(":")
                let width = isLong ? 128 : 32
                let count = parts.count == 2 ? Int(parts[1]) ?? -1 : width
                guard let address, isLong == host.contains(":"), (0...width).contains(count) else {
                    return false
                }
                return (address ^ network) >> (width - count) == 0
            }
            let name = entry.split(separator: ":")
            guard let domain = name.first, name.count == 1 || Int(name[1]) == target.port else {
                return false
            }
            let suffix = domain.drop { $0 == "*" || $0 == "." }
            return host == suffix || host.hasSuffix(".\(suffix)")
        }
    }
}

struct Proxy: Sendable, Equatable, CustomStringConvertible {
    let target: HTTPTarget
    let user: String?
    let password: String

    /// Reads `[http://][USER:PASSWORD@]HOST[:PORT]`. The default port is 80.
    init?(_ text: String) {
        let url = text.contains("://") ? text : "http://\(text)"
        guard let target = HTTPTarget(url), !target.isSecure else { return nil }
        self.target = target
        (user, password) = url.userInfo.map { ($0.user, $0.password) } ?? (nil, "")
    }

    var description: String { target.authority }
}

/// An IPv6 address as a number; an IPv4 address as the number of its IPv6 form, such as ::ffff:127.0.0.1; nil for a name.
private func ipAddress(_ text: String) -> UInt128? {
    var bits = UInt128()
    // Only a text with a dot gets the prefix ::ffff:. If every text got it, a host `cafe` would be taken for an address.
    let address = text.contains(":") ? text : text.contains(".") ? "::ffff:\(text)" : ""
    return inet_pton(AF_INET6, address, &bits) == 1 ? bits.bigEndian : nil
}

extension UInt128 {
    /// Whether the address is in 127.0.0.0/8, or is ::1.
    fileprivate var isLoopback: Bool { self >> 24 == 0xFF_FF7F || self == 1 }
}
