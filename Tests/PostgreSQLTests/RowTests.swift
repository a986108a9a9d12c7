import Logging
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("A row's columns")
struct RowTests {
    @Test("Columns are decoded by name; of two with the same name, the first counts")
    func byName() async throws {
        let row = try await row(
            "select 'us7000' as code, 4.5::float8 as magnitude, true as felt, 1 as twice, 2 as twice")
        #expect(try row.decode("code") == "us7000")
        #expect(try row.decode("magnitude") == 4.5)
        #expect(try row.decode("felt") == true)
        #expect(try row.decode("twice", as: Int32.self) == 1)
    }

    @Test("An error names the column and never the value")
    func errors() async throws {
        let row = try await row("select 'sesame' as place, null as nothing, 2147483648 as big")
        #expect(throws: RowError(column: "depth", problem: "is not in the result")) {
            try row.decode("depth", as: Double.self)
        }
        #expect(throws: RowError(column: "nothing", problem: "is null")) {
            try row.decode("nothing", as: String.self)
        }
        #expect(throws: RowError(column: "big", problem: "is not a valid Int32")) {
            try row.decode("big", as: Int32.self)
        }
        for type in [Int.self, Int64.self, Double.self, Bool.self, [UInt8].self, TextArray.self]
            as [any RowDecodable.Type]
        {
            let error = #expect(throws: RowError.self) { try decode(type, "place", of: row) }
            #expect(error?.column == "place")
            #expect(!"\(error!)".contains("sesame"))
        }
    }

    @Test("A null is nil when the column may be null")
    func optional() async throws {
        let row = try await row("select null::text as alert, 'green' as color")
        #expect(try row.decodeIfPresent("alert", as: String.self) == nil)
        #expect(try row.decodeIfPresent("color", as: String.self) == "green")
    }

    static let arrays: [[String]] = [
        [], [""], ["", ""], ["a"], ["a", "b"], [","], ["\""], ["\\"], ["\\\""], ["{", "}"], ["{a,b}"],
        [" a "],
        ["NULL"], ["null"], ["\u{301}a", "a\u{301}"], ["\r\n", "\t"], ["a\u{200D}"], ["\u{1F30B}", "ß"],
    ]

    @Test("A text array comes back element by element, whatever is in it", arguments: arrays)
    func textArray(_ elements: [String]) async throws {
        let values = elements.map { Array($0.utf8) }
        let list = elements.indices.map { "convert_from('\\x\(hex(values[$0]))', 'UTF8')" }.joined(
            separator: ", ")
        let row = try await row("select array[\(unescaped: list)]::text[] as value")
        let decoded = try row.decode("value", as: TextArray.self).elements
        #expect(decoded.map { Array($0.utf8) } == values)
    }

    @Test(
        "Anything other than a one-dimensional text array without nulls is an error, not a guess",
        arguments: [
            "'{NULL}'::text[]", "'{a,NULL}'::text[]", "'{NULL,\"NULL\"}'::text[]", "'{{a,b},{c,d}}'::text[]",
            "'[2:3]={a,b}'::text[]", "'a'", "''", "'{'", "'{\"a}'", "'{a\\'",
        ])
    func noTextArray(_ expression: String) async throws {
        let row = try await row("select \(unescaped: expression) as value")
        #expect(throws: RowError(column: "value", problem: "is not a valid TextArray")) {
            try row.decode("value", as: TextArray.self)
        }
    }

    @Test("Bytes are read only from hex", arguments: ["x", "\\x1", "\\xzz", "\\x+1", "abc"])
    func noBytes(_ text: String) {
        #expect([UInt8](postgresText: text) == nil)
    }

    private func row(_ query: Query) async throws -> Row {
        try await TestServer.shared.withEmptyDatabase { try await $0.query(query)[0] }
    }

    private func decode<Value: RowDecodable>(_ type: Value.Type, _ column: String, of row: Row) throws {
        _ = try row.decode(column, as: type)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
