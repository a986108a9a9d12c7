import Synchronization
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("Bound arrays")
struct BoundArrayTests {
    @Test("The server receives every element, in order", arguments: [0, 1, 2, 5000])
    func elements(count: Int) async throws {
        let strings = (0..<count).map { $0 % 7 == 0 ? "" : "ü\($0)" }
        var texts = BoundArray<String>(count: count)
        var integers = BoundArray<Int64>(count: count)
        for (index, string) in strings.enumerated() {
            Array(string.utf8).withUnsafeBufferPointer { texts.append($0) }
            integers.append(index == 0 ? .min : Int64(index))
        }
        #expect(strings.parameter.bytes == texts.parameter.bytes)
        try await TestServer.shared.withSharedDatabase { [texts, integers] database in
            let rows = try await database.query(
                """
                select text, integer from unnest(\(texts), \(integers)) with ordinality as one (text, integer, position)
                order by position
                """)
            #expect(try rows.map { try $0.decode("text") } == strings)
            #expect(
                try rows.map { try $0.decode("integer", as: Int64.self) }
                    == (0..<count).map { $0 == 0 ? .min : Int64($0) })
        }
    }

    @Test(
        "In the query of a COPY, arrays become literals with the same elements",
        arguments: [[], [""], ["é", "", "it's", "{,\"}\\"]])
    func copied(strings: [String]) async throws {
        let integers = [Int64.min, 0, 7]
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let found = Mutex<[String]>([])
                try await connection.copy(
                    rowsOf: """
                        select unnest(\(strings)) union all select unnest(\(integers))::text
                        union all select pg_typeof(\([String]?.none))::text
                        """, to: "copy arrays"
                ) { row in
                    let text = try row.nextText() ?? "null"
                    found.withLock { $0.append(text) }
                }
                #expect(found.withLock { $0 } == strings + integers.map { "\($0)" } + ["text[]"])
            }
        }
    }
}
