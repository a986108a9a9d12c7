import PostgreSQL
import TestSupport
import Testing

@Suite("The hash of a record")
struct RecordHashTests {
    private static let seeds: [Int64] = [0, 1, -1, .min, .max, 0x0123_4567_89AB_CDEF]

    @Test("Texts of any length have the server's hash")
    func texts() async throws {
        let long = [String(repeating: "long ", count: 20_000), String(repeating: "\u{7F}", count: 8191)]
        let texts = (0..<60).map { count in
            String("a\u{E9}😀\u{1}b".unicodeScalars.prefix(count % 5)) + String(repeating: "x", count: count)
        }
        try await compare((texts + long).map { text in ("\(text)", { $0.append(text) }) })
    }

    @Test("Numbers have the server's hash, which is equal for 0 and −0, and for all NaNs")
    func numbers() async throws {
        let numbers: [Double] = [
            0, -0.0, 1, -1, 0.1, .pi, 1e-308, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude, .infinity, -.infinity, .nan, -.nan, .signalingNaN,
        ]
        try await compare(numbers.map { number in ("\(number)", { $0.append(number) }) })
        #expect(number(0) { $0.append(-0.0) } == number(0) { $0.append(0.0) })
    }

    @Test("Integers, booleans and null have the server's hash")
    func others() async throws {
        try await compare(
            ([0, 1, -1, 255, 256, .min, .max] as [Int32]).map { integer in
                ("\(Int(integer))::integer", { $0.append(integer) })
            })
        try await compare([true, false].map { flag in ("\(flag)", { $0.append(flag) }) })
        try await compare([("null::text", { $0.appendNull() }), ("null::jsonb", { $0.appendNull() })])
    }

    @Test("A timestamp has the hash of the bytes that the server sends")
    func moments() async throws {
        try await compare(
            ["0001-01-01", "1999-12-31 23:59:59.999", "2000-01-01", "9999-12-31"].map { text in
                (
                    "timestamptz_send(\(text)::timestamp at time zone 'UTC')",
                    { $0.append(sent: Self.microseconds[text]!) }
                )
            })
    }

    private static let microseconds: [String: Int64] = [
        "0001-01-01": -63_082_281_600_000_000, "1999-12-31 23:59:59.999": -1000, "2000-01-01": 0,
        "9999-12-31": 252_455_529_600_000_000,
    ]

    @Test("A list has the server's hash, for any number of elements")
    func lists() async throws {
        let lists = [
            [], [""], ["a"], ["a", "b"], ["b", "a"], ["", "", "ü"], (0..<300).map { "element \($0)" },
        ]
        try await compare(
            lists.map { list in
                let text = list.map { "<\($0)>" }.joined(separator: "|")
                return (
                    "string_to_array(nullif(\(text), ''), '|')",
                    { hash in
                        if list.isEmpty { return hash.appendNull() }
                        hash.appendTextArray { append in
                            for element in list { Array("<\(element)>".utf8).withUnsafeBufferPointer(append) }
                        }
                    }
                )
            })
        try await compare([("'{}'::text[]", { $0.appendTextArray { _ in } })])
    }

    @Test("The hash of a row equals the server's, and depends on the order of the values and on the seed")
    func rows() async throws {
        try await compare([
            (
                "\("a"), null::text, \(2.5), '{x}'::text[], \("b")",
                { hash in
                    hash.append("a")
                    hash.appendNull()
                    hash.append(2.5)
                    hash.appendTextArray { append in Array("x".utf8).withUnsafeBufferPointer(append) }
                    hash.append("b")
                }
            )
        ])
        let (ab, ba) = (
            number(7) { ($0.append("a"), $0.append("b")) }, number(7) { ($0.append("b"), $0.append("a")) }
        )
        #expect(ab != ba)
        #expect(number(7) { $0.append("a") } != number(8) { $0.append("a") })
    }

    private func number<Result>(_ seed: Int64, _ append: (inout RecordHash) -> Result) -> Int64 {
        var hash = RecordHash(seed: UInt64(bitPattern: seed))
        _ = append(&hash)
        return Int64(bitPattern: hash.value)
    }

    /// Compares the hashes of rows with the server's, for all seeds. Each row is given as SQL and as values.
    private func compare(_ rows: [(sql: Query, append: (inout RecordHash) -> Void)]) async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                for row in rows {
                    let answers = try await connection.query(
                        """
                        select seed, hash_record_extended(row(\(row.sql)), seed) as number
                        from unnest(\(Self.seeds)) as seed
                        """, to: "hash")
                    #expect(answers.count == Self.seeds.count)
                    for answer in answers {
                        let seed: Int64 = try answer.decode("seed")
                        let number = number(seed, row.append)
                        #expect(try answer.decode("number") == number, "\(row.sql.text), seed \(seed)")
                    }
                }
            }
        }
    }
}

extension RecordHash {
    fileprivate mutating func append(_ text: String) {
        Array(text.utf8).withUnsafeBufferPointer { append(bytes: $0) }
    }
}
