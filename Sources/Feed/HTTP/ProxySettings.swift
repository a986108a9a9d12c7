import Curl

/// Finds the proxy for a request. Environment variables set the proxy: `http_proxy`, `https_proxy` or `HTTPS_PROXY`, and
/// `all_proxy` or `ALL_PROXY`. `no_proxy` or `NO_PROXY` lists the hosts, domains, addresses and networks that are reached
/// directly; `*` means all.
///
/// `HTTP_PROXY` is ignored: a CGI server sets it from a request's header (https://httpoxy.org). Servers on this machine's
/// loopback are always reached directly.
public struct ProxySettings: Sendable {
    private static let loopback = ["127.0.0.0/8", "::1"].map { IPNetwork($0)! }

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
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        if let address, Self.loopback.contains(where: { $0.contains(address) }) { return true }
        let list = variable(["no_proxy", "NO_PROXY"])?.value.lowercased() ?? ""
        return list.split(whereSeparator: { $0 == "," || $0.isWhitespace }).contains { entry in
            if entry == "*" { return true }
            // An IPv6 address with a port is in brackets: `[2001:db8::1]:8080`.
            let withPort = entry.wholeMatch(of: #/(\[.*\]):(\d+)/#)
            if let withPort, Int(withPort.2) != target.port { return false }
            if let network = IPNetwork((withPort?.1 ?? entry).filter { $0 != "[" && $0 != "]" }) {
                return address.map(network.contains) ?? false
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
