import CPostgreSQL
import Glibc

/// Where to look for a server, in libpq's own order: each host of the list, each address of its name.
///
/// libpq would go through them by itself, but only PQconnectdb gives each of them its `connect_timeout`
/// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PQCONNECTSTARTPARAMS). Under PQconnectPoll, a host that is
/// silent would hide all that come after it.
struct ServerSearch {
    /// The keywords of a connection to one address.
    typealias Address = [String: String]

    private let keywords: Address
    private let hosts: [Address]
    private let isShuffled: Bool
    /// What `target_session_attrs` is in each round; nil for what the options say.
    let rounds: [String?]
    /// How long each address may take. `connect_timeout`, from wherever libpq takes it; a 0, which means no limit to libpq, means
    /// none given.
    private let givenLimit: Duration?

    /// How long the only address may take, and how long one of several.
    private static let (limit, limitOfOne) = (Duration.seconds(10), Duration.seconds(3))

    init(_ options: ConnectionOptions) {
        keywords = options.effective
        let known = Self.resolved(keywords)
        hosts = Self.hosts(known)
        isShuffled = known["load_balance_hosts"] == "random"
        // libpq would try the silent ones again in its second round.
        let prefersStandby = known["target_session_attrs"] == "prefer-standby"
        rounds = prefersStandby ? ["standby", "any"] : [nil]
        givenLimit = known["connect_timeout"].flatMap { Int($0) }.flatMap { $0 > 0 ? .seconds($0) : nil }
    }

    /// The addresses of each host. A name is looked up when its turn comes, which blocks.
    var addresses: some Sequence<[Address]> {
        (isShuffled ? hosts.shuffled() : hosts).lazy.map { host in
            let found = host["hostaddr"] == nil ? Self.lookUp(host["host"] ?? "") : []
            let addresses = found.isEmpty ? [host] : found.map { host.merging(["hostaddr": $0]) { $1 } }
            return (isShuffled ? addresses.shuffled() : addresses).map { address in
                keywords.merging(address) { $1 }
            }
        }
    }

    /// - Parameter count: how many addresses the host has.
    func limit(ofEachOf count: Int) -> Duration {
        givenLimit ?? (hosts.count > 1 || count > 1 ? Self.limitOfOne : Self.limit)
    }

    /// The keywords with what libpq adds from the service file, the environment and its defaults. It tells what they are only of
    /// a connection that has begun; one with an impossible option ends before anything is looked up or sent.
    private static func resolved(_ keywords: Address) -> Address {
        var keywords = keywords
        keywords["sslmode"] = "none of these"
        guard let handle = startConnecting(keywords) else { return [:] }
        defer { PQfinish(handle) }
        return PQconninfo(handle).map { takeKeywords(of: $0) } ?? [:]
    }

    /// The lists of hosts, addresses and ports, taken apart. If they do not fit each other, libpq is to say so.
    private static func hosts(_ known: Address) -> [Address] {
        func list(_ keyword: String) -> [String] {
            let value = known[keyword] ?? ""
            return value.isEmpty
                ? [] : value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = max(names.count, addresses.count, 1)
        let fits = [names, addresses, ports].allSatisfy { $0.isEmpty || $0.count == count }
        guard fits || ports.count == 1 && [names, addresses].allSatisfy({ [0, count].contains($0.count) })
        else { return [[:]] }
        return (0..<count).map { index in
            var host: Address = [:]
            if !names.isEmpty { host["host"] = names[index] }
            if !addresses.isEmpty, !addresses[index].isEmpty { host["hostaddr"] = addresses[index] }
            if ports.count == count { host["port"] = ports[index] }
            return host
        }
    }

    /// The addresses of a name, as numbers. None for a socket's folder, and for a name that is not known: libpq will say so.
    private static func lookUp(_ name: String) -> [String] {
        guard !name.isEmpty, !name.hasPrefix("/"), !name.hasPrefix("@") else { return [] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var addresses: [String] = []
        for info in sequence(first: first, next: { $0?.pointee.ai_next }).prefix(while: { $0 != nil }) {
            guard let info = info?.pointee else { continue }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            guard getnameinfo(info.ai_addr, info.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(cString: text)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}

/// Starts to connect with these keywords; nil if there is no memory.
func startConnecting(_ keywords: [String: String]) -> OpaquePointer? {
    withCStrings(of: keywords) { PQconnectStartParams($0, $1, 0) }
}
