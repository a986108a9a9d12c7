/// Reads `Accept-Encoding` (RFC 9110, 12.5.3).
enum AcceptedEncoding {
    /// Whether the client accepts gzip, and does not prefer an uncompressed body.
    static func prefersGzip(_ field: String?) -> Bool {
        guard let field else { return false }
        var weights: [Substring: Double] = [:]
        for part in field.lowercased().split(separator: ",").prefix(20) {
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let name = pieces.first else { continue }
            let quality = pieces.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            weights[Substring(name)] = quality.map { Double($0) ?? 0 } ?? 1
        }
        let gzip = weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] ?? 0
        return gzip > 0 && gzip >= weights["identity"] ?? 0
    }
}
