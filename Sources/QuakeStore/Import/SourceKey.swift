import Feed
import PostgreSQL

/// Tells sources apart whose URLs differ only in what is secret: the digits after a name depend on the secret and on a key of
/// the database.
///
/// The key is drawn by the database itself, and only workers can read it. So a reader who sees the names can't try guesses,
/// and neither the secret nor anything that it could be found by ever gets to the server.
enum SourceKey {
    /// The name under which the database keeps a source.
    ///
    /// - Throws: `PostgresError` (42501) if it takes the key, and this login must not read that.
    static func name(of source: FeedSource, on connection: Connection) async throws -> String {
        guard let secret = source.secretQuery else { return "\(source)" }
        let row = try await connection.query(
            "select key from import.source_key", to: "read the key of sources")[0]
        let hash = sipHash(secret.utf8, key: try row.decode("key", as: [UInt8].self))
        let digits = String(hash >> 32, radix: 16)
        return "\(source)#\(String(repeating: "0", count: 8 - digits.count))\(digits)"
    }

    /// The same for who asks about a source.
    ///
    /// - Returns: nil if the name cannot be told: it takes the key, and this login must not read that, or the source is a name
    ///   whose digits were left out, as messages and logs do.
    static func nameIfKnown(of source: FeedSource, on connection: Connection) async throws -> String? {
        guard "\(source)".hasSuffix("…") else { return "\(source)" }
        guard source.secretQuery != nil else { return nil }
        let access = try await connection.query(
            "select has_table_privilege('import.source_key', 'select') as is_readable",
            to: "look for the key of sources")[0]
        return try access.decode("is_readable") ? await name(of: source, on: connection) : nil
    }
}

/// SipHash-2-4 (Aumasson and Bernstein 2012, https://www.aumasson.jp/siphash/siphash.pdf): who lacks the key learns nothing
/// about the text.
///
/// - Parameter key: 16 bytes; what is missing counts as 0.
func sipHash(_ text: some Collection<UInt8>, key: [UInt8]) -> UInt64 {
    func word(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.enumerated().reduce(0) { $0 | UInt64($1.element) << UInt64(8 * $1.offset) }
    }
    let (low, high) = (word(key.prefix(8)), word(key.dropFirst(8).prefix(8)))
    var (v0, v1) = (low ^ 0x736f_6d65_7073_6575, high ^ 0x646f_7261_6e64_6f6d)
    var (v2, v3) = (low ^ 0x6c79_6765_6e65_7261, high ^ 0x7465_6462_7974_6573)
    func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 - count) }
    func mix(rounds: Int) {
        for _ in 0..<rounds {
            v0 &+= v1
            v1 = rotated(v1, 13) ^ v0
            v0 = rotated(v0, 32)
            v2 &+= v3
            v3 = rotated(v3, 16) ^ v2
            v0 &+= v3
            v3 = rotated(v3, 21) ^ v0
            v2 &+= v1
            v1 = rotated(v1, 17) ^ v2
            v2 = rotated(v2, 32)
        }
    }
    var rest = text[...]
    while true {
        let isLast = rest.count < 8
        let next = word(rest.prefix(8)) | (isLast ? UInt64(text.count & 255) << 56 : 0)
        v3 ^= next
        mix(rounds: 2)
        v0 ^= next
        if isLast { break }
        rest = rest.dropFirst(8)
    }
    v2 ^= 255
    mix(rounds: 4)
    return v0 ^ v1 ^ v2 ^ v3
}
