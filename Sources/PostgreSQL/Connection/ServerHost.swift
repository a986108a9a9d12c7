import CPostgreSQL
import Foundation

/// One of the hosts that libpq tries.
struct ServerHost: Equatable {
    let name: String
    /// The IP address; empty if `name` is the directory of a Unix-domain socket, or if libpq should look up the name.
    let address: String
    let port: String

    /// Whether `place`, the host that libpq reports, comes from this entry of the list. An empty property of the entry means
    /// libpq's default, and matches any value.
    fileprivate func isTried(at place: ServerHost) -> Bool {
        let given = name.isEmpty ? address : name
        return (given.isEmpty || given == place.name) && (address.isEmpty || address == place.address)
            && (port.isEmpty || port == place.port)
    }
}

extension ServerHost {
    /// The host that libpq is connecting to, or has connected to.
    init(of handle: OpaquePointer) {
        func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        self.init(name: text(PQhost(handle)), address: text(PQhostaddr(handle)), port: text(PQport(handle)))
    }
}

extension [ServerHost] {
    /// - Parameter keywords: libpq's keywords, with comma-separated lists in `host`, `hostaddr` and `port`.
    init(_ keywords: [String: String]) {
        let lists = ["host", "hostaddr", "port"].map { keyword in
            keywords[keyword].map { $0.components(separatedBy: ",") } ?? [""]
        }
        self = (0..<Swift.max(lists[0].count, lists[1].count)).map { index in
            let parts = lists.map { $0.count == 1 ? $0[0] : $0[index] }
            return ServerHost(name: parts[0], address: parts[1], port: parts[2])
        }
    }

    var keywords: [String: String] {
        func list(_ part: KeyPath<ServerHost, String>) -> String {
            map { $0[keyPath: part] }.joined(separator: ",")
        }
        return ["host": list(\.name), "hostaddr": list(\.address), "port": list(\.port)]
    }

    /// The time limit for each host. A `connect_timeout` of 0, which means no limit in libpq, selects the default here.
    func connectLimit(_ timeout: String?) -> Duration {
        let given = timeout.flatMap { Int($0) } ?? 0
        return .seconds(given > 0 ? given : count > 1 ? 3 : 10)
    }

    /// The list without the host at `place`.
    ///
    /// - Parameter isSilent: whether the host did not answer. If so, the other addresses of the host's name stay in the list.
    func leaving(_ place: ServerHost, isSilent: Bool = false) -> [ServerHost] {
        guard let index = firstIndex(where: { $0.isTried(at: place) }) else { return [] }
        var others = self
        let left = others.remove(at: index)
        if isSilent, left.address.isEmpty, !place.address.isEmpty {
            let addresses = Host(name: left.name).addresses.filter { $0 != place.address }
            others.insert(
                contentsOf: addresses.map { ServerHost(name: left.name, address: $0, port: left.port) },
                at: index)
        }
        return others
    }
}
