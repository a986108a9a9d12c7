import Feed

/// Short names of sources for people. Each source has a different name.
enum SourceLabel {
    private static let longest = 40

    /// A label for each source, in the order of `names`.
    ///
    /// The label of a summary feed or of an event service is its short name. A long name is cut in the middle: the host and the
    /// end of the path stay, with as much of the path as is needed to tell the sources apart.
    static func labels(of names: [String]) -> [String] {
        var labels = names.map { shortened($0, keeping: 1) }
        // Adds more of the paths, until no two labels are the same. Whole names are always different.
        for count in 2...names.reduce(2, { max($0, parts(of: $1).path.count + 1) }) {
            let uses = Dictionary(grouping: labels.indices, by: { labels[$0] })
            let alike = uses.values.filter { $0.count > 1 }.joined()
            if alike.isEmpty { break }
            for index in alike { labels[index] = shortened(names[index], keeping: count) }
        }
        return labels
    }

    private static func shortened(_ name: String, keeping count: Int) -> String {
        let (prefix, host, path) = parts(of: name)
        let source = FeedSource(String(name.dropFirst(prefix.count)))
        if count == 1, let shortName = source.shortName { return prefix + shortName }
        let whole = ([host].compactMap(\.self) + path).joined(separator: "/")
        if count == 1, prefix.count + whole.count <= longest { return prefix + whole }
        guard count <= path.count else { return name }
        let tail = path.suffix(count).joined(separator: "/")
        let end = count > 1 || tail.count <= longest ? "…/\(tail)" : "…\(tail.suffix(longest))"
        return prefix + (host.map { "\($0)/\(end)" } ?? end)
    }

    /// Splits a name: `backfill https://host/a/b` gives the prefix `backfill `, the host `host`, and the path `a`, `b`. The name
    /// of a file gives no host.
    private static func parts(of name: String) -> (prefix: String, host: String?, path: [String]) {
        let prefix = ["backfill ", "verify "].first { name.hasPrefix("\($0)http") } ?? ""
        let rest = name.dropFirst(prefix.count)
        let scheme = rest.prefixMatch(of: #/(?i:https?)://(?=[^\/])/#)?.0.count ?? 0
        let parts = rest.dropFirst(scheme).split(separator: "/", omittingEmptySubsequences: false).map(
            String.init)
        return scheme > 0 ? (prefix, parts[0], Array(parts.dropFirst())) : (prefix, nil, parts)
    }
}
