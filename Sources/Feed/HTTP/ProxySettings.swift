import Glibc

/// Which proxy a request goes through. The environment decides: `http_proxy`, `https_proxy` or `HTTPS_PROXY`, and
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
        let address = IPAddress(host)
        if host == "localhost" || host.hasSuffix(".localhost") || address?.isLoopback == true { return true }
        let list = variable(["no_proxy", "NO_PROXY"])?.value.lowercased() ?? ""
        return list.split(whereSeparator: { $0 == "," || $0.isWhitespace }).contains { entry in
            if entry == "*" { return true }
            let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
            if let network = IPAddress(parts[0].filter { $0 != "[" && $0 != "]" }) {
                let bits = parts.count == 2 ? Int(parts[1]) : network.width
                return address.map { $0.isEqual(to: network, bits: bits ?? -1) } ?? false
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

/// An HTTP proxy.
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

/// An IPv4 or IPv6 address.
private struct IPAddress {
    private let bits: UInt128
    let width: Int

    init?(_ text: some StringProtocol) {
        var (short, long) = (UInt32(), UInt128())
        if inet_pton(AF_INET, String(text), &short) == 1 {
            (bits, width) = (UInt128(short.bigEndian), 32)
        } else if inet_pton(AF_INET6, String(text), &long) == 1 {
            (bits, width) = (long.bigEndian, 128)
        } else {
            return nil
        }
    }

    var isLoopback: Bool { width == 32 ? bits >> 24 == 127 : bits == 1 }

    /// Whether the first `count` bits are the same.
    func isEqual(to other: IPAddress, bits count: Int) -> Bool {
        width == other.width && (0...width).contains(count) && (bits ^ other.bits) >> (width - count) == 0
    }
}
