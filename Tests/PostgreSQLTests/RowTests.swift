import Logging
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("A row's columns")
struct RowTests {
    @Test("Columns are decoded by name; if two have the same name, the first is used")
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
        for type in [Int.self, Int64.self, Double.self, Bool.self, [UInt8].self, [String].self]
            as [any RowDecodable.Type]
        {
            let error = #expect(throws: RowError.self) { try decode(type, "place", of: row) }
            #expect(error?.column == "place")
            #expect(!"\(error!)".contains("sesame"))
        }
    }

    @Test("decodeIfPresent decodes a null as nil")
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

    @Test("Text arrays with any content are read element by element", arguments: arrays)
    func textArray(_ elements: [String]) async throws {
        let values = elements.map { Array($0.utf8) }
        let list = elements.indices.map { "convert_from('\\x\(hex(values[$0]))', 'UTF8')" }.joined(
            separator: ", ")
        let row = try await row("select array[\(unescaped: list)]::text[] as value")
        let decoded = try row.decode("value", as: [String].self)
        #expect(decoded.map { Array($0.utf8) } == values)
    }

    @Test(
        "Any value other than a one-dimensional text array without nulls is an error",
        arguments: [
            "'{NULL}'::text[]", "'{a,NULL}'::text[]", "'{NULL,\"NULL\"}'::text[]", "'{{a,b},{c,d}}'::text[]",
            "'[2:3]={a,b}'::text[]", "'{a}'", "'{1}'::int[]",
        ])
    func noTextArray(_ expression: String) async throws {
        let row = try await row("select \(unescaped: expression) as value")
        #expect(throws: RowError(column: "value", problem: "is not a valid Array<String>")) {
            try row.decode("value", as: [String].self)
        }
    }

    @Test(
        "All kinds of text are read as text",
        arguments: [
            "'a'::char(1)", "'a'::varchar", "'a'::name", "'a'::\"char\"", "'\"a\"'::json #>> '{}'", "'a'",
        ])
    func texts(_ expression: String) async throws {
        #expect(try await row("select \(unescaped: expression) as value").decode("value") == "a")
    }

    @Test("A uuid and a jsonb are read in the form in which the server writes them")
    func written() async throws {
        let row = try await row(
            """
            select id, id::text as id_text, object, object::text as object_text
            from (select gen_random_uuid() as id, '{"b": [1, null], "a": "ß"}'::jsonb as object) as one
            """)
        #expect(try row.decode("id", as: String.self) == row.decode("id_text"))
        #expect(try row.decode("object", as: String.self) == row.decode("object_text"))
    }

    @Test(
        "An interval is read as a duration, to the microsecond; one with months is refused, because months vary"
    )
    func intervals() async throws {
        let row = try await row(
            """
            select interval '-1.5 s' as short, interval '2 days 03:00:00.000001' as long,
                   timestamptz '2026-03-30Z' - timestamptz '2026-03-27Z' as days, interval '1 mon' as month
            """)
        #expect(try row.decode("short") == Duration.milliseconds(-1500))
        #expect(try row.decode("long") == Duration.seconds(51 * 3600) + .microseconds(1))
        #expect(try row.decode("days") == Duration.seconds(3 * 86400))
        #expect(throws: RowError(column: "month", problem: "is not a valid Duration")) {
            try row.decode("month", as: Duration.self)
        }
    }

    private func row(_ query: Query) async throws -> Row {
        try await TestServer.shared.withSharedDatabase { try await $0.query(query)[0] }
    }

    private func decode<Value: RowDecodable>(_ type: Value.Type, _ column: String, of row: Row) throws {
        _ = try row.decode(column, as: type)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
