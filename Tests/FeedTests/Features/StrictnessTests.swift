import Testing

@testable import Feed

/// JSON texts in the categories of Nicolas Seriot's JSONTestSuite (https://github.com/nst/JSONTestSuite). Each is tested in every
/// place of a feed that can contain JSON.
@Suite struct StrictnessTests {
    @Test(arguments: JSONCase.all) func jsonIsCheckedInAnUnknownProperty(json: JSONCase) throws {
        let feature = json.inside(feature(properties: #""extra":@,"#))
        #expect(rejection(of: feature)?.reason == json.reasonInExtra)
        guard json.reasonInExtra == nil else { return }
        let extra = try #require(try decode(feature)[.extra].json)
        #expect(Array(extra.utf8) == Array(#"{"extra":"#.utf8) + json.trimmed + Array("}".utf8))
    }

    @Test(arguments: JSONCase.all) func jsonIsCheckedDeepInAnUnknownProperty(json: JSONCase) {
        let feature = json.inside(feature(properties: #""extra":[{"a":[ @ ]}],"#))
        #expect(rejection(of: feature)?.reason == json.reasonInExtra)
    }

    @Test(arguments: JSONCase.all) func jsonIsCheckedInASkippedMemberOfAFeature(json: JSONCase) {
        #expect(rejection(of: json.inside(feature(members: #""other": @ ,"#)))?.reason == json.reason)
    }

    @Test(arguments: JSONCase.all) func jsonIsCheckedInASkippedMemberOfTheGeometry(json: JSONCase) {
        let geometry = #""geometry":{"other":@,"coordinates":[1,2]},"#
        let feature = json.inside(feature(coordinates: nil, members: geometry))
        #expect(rejection(of: feature)?.reason == json.reason)
    }

    /// JSON of the wrong type is refused for its type; text that is not JSON is refused for its syntax.
    @Test(arguments: JSONCase.all, ["place", "mag", "felt", "tsunami", "ids"])
    func jsonIsCheckedInAKnownProperty(json: JSONCase, property: String) {
        let text = feature(properties: #""\#(property)":@,"#).replacingFirst(#""mag":1.5"#, with: #""v":1"#)
        let reason = rejection(of: json.inside(text))?.reason
        if json.reason == nil {
            #expect(reason == nil || reason == .type || reason == .range)
        } else if json.isNUL {
            #expect(reason == .encoding || reason == .type)
        } else {
            #expect(reason == json.reason)
        }
    }

    @Test(arguments: JSONCase.all) func jsonIsCheckedInAMemberOfTheDocument(json: JSONCase) {
        expectVerdict(on: json, inDocument: #""other":@"#)
    }

    @Test(arguments: JSONCase.all) func jsonIsCheckedAsTheMetadata(json: JSONCase) {
        expectVerdict(on: json, inDocument: #""metadata":@"#)
    }

    @Test(arguments: JSONCase.all) func jsonIsCheckedInsideTheMetadata(json: JSONCase) {
        for name in ["url", "generated", "count", "title", "other"] {
            expectVerdict(on: json, inDocument: #""metadata":{"\#(name)":@}"#)
        }
    }

    /// Only the broken feature is rejected: the features before and after it are accepted.
    @Test(arguments: JSONCase.all.filter { !$0.breaksStructure })
    func invalidJSONRejectsOnlyItsFeature(json: JSONCase) {
        let broken = feature(properties: #""extra":@,"#)
        let document = json.inside(document([feature(), broken, feature()]))

        let outcome = ScanOutcome(document)

        #expect(outcome.error == nil)
        #expect(
            outcome.features.map { (try? $0.result?.get()) != nil } == [
                true, json.reasonInExtra == nil, true,
            ])
    }

    @Test(arguments: JSONCase.all.filter(\.breaksStructure))
    func aFeatureWhoseEndIsUnknownBreaksTheDocument(json: JSONCase) {
        let document = json.inside(document([feature(), feature(properties: #""extra":@,"#), feature()]))
        #expect(ScanOutcome(document).error != nil)
    }

    private func expectVerdict(on json: JSONCase, inDocument member: String) {
        let document = json.inside(#"{"type":"FeatureCollection",\#(member),"features":[]}"#)
        let outcome = ScanOutcome(document)
        // An escaped NUL is valid JSON, and is accepted here, because the members of a document are not stored.
        if json.reason == nil || json.isNUL {
            #expect(outcome.error == nil)
        } else if case .brokenDocument(_, let offset) = outcome.error {
            #expect((28...document.count).contains(offset))
        } else {
            Issue.record("\(outcome.error.map { "\($0)" } ?? "accepted")")
        }
    }
}

/// A JSON text and the expected verdict.
struct JSONCase: CustomTestStringConvertible, Sendable {
    let text: [UInt8]
    /// nil if the reader accepts the text.
    let reason: Rejection.Reason?
    /// Whether the text leaves a string or a bracket open, or closes a bracket that is not open, so that its end is unknown.
    let breaksStructure: Bool
    /// Whether the text is valid, but has a number outside the range of PostgreSQL's numeric.
    var isBeyondNumeric = false
    /// Whether the text is valid, but cannot be stored in PostgreSQL's text.
    var isNUL = false

    var testDescription: String {
        text.count > 60
            ? "\(text.count) bytes"
            : text.map { 0x20...0x7E ~= $0 ? String(UnicodeScalar($0)) : "\\x" + String($0, radix: 16) }
                .joined()
    }

    var reasonInExtra: Rejection.Reason? { isBeyondNumeric ? .range : reason }

    /// The text without white space at its ends.
    var trimmed: [UInt8] {
        var text = text[...]
        while text.first?.isJSONWhitespace == true { text.removeFirst() }
        while text.last?.isJSONWhitespace == true { text.removeLast() }
        return Array(text)
    }

    func inside(_ template: String) -> [UInt8] { inside(Array(template.utf8)) }

    /// The template with the text in place of its `@`.
    func inside(_ template: [UInt8]) -> [UInt8] {
        let place = template.firstIndex(of: UInt8(ascii: "@"))!
        return template[..<place] + text + template[(place + 1)...]
    }

    static let all = valid + beyondNumeric + nul + invalid + broken + invalidUTF8

    private static let valid: [JSONCase] = [
        "0", "-0", "1", "-1", "123", "1.5", "-0.0", "0e1", "0e+1", "0E-1", "1E22", "1e-2", "1.0e+2",
        "1.7976931348623157e308",
        "1e400", "-1e-400", "123456789012345678901234567890", "0.1e00002", "20e-0001",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
        #""""#, #""a""#, #""\"\\\/\b\f\n\r\t""#, #""\u0041\u00E9\u20ac""#, #""\uD83C\uDF0B""#,
        #""\ud801\udc37""#, #""\uDBFF\uDFFF""#, #""\uFFFF\uFFFE\uFDD0""#,
        #""\u0001\u001f\u007f""#, #""\\u0000""#, #""\\""#, "\"\u{7F}\"", "\"é€🌋\u{10FFFF}\u{FFFF}\"",
        "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"", "\"a/*b*/c//d\"",
        #"":,[]{}""#, "true", "false", "null", "[]", "[ ]", "[1]", "[ 1 , 2 ]", "[[],[[]],{}]",
        "[null,1,\"1\",{}]", "{}", "{ }",
        #"{"":0}"#, #"{"a":{"a":{"a":1}}}"#, #"{ "a" : 1 , "A" : 2 }"#, "{\"\u{E9}\":1,\"e\u{301}\":2}",
        #"{"a":1,"b":[{"a":1}]}"#,
        " \t\r\n1", "1 \t\r\n", "[\n\t1\r\n]",
        String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
    ].map { JSONCase(text: Array($0.utf8), reason: nil, breaksStructure: false) }

    private static let beyondNumeric: [JSONCase] = [
        "1e131072", "[1e200000]", "1e-16384", #"{"a":-1E+99999999999999999999}"#, "1e-99999999999999999999",
    ].map { JSONCase(text: Array($0.utf8), reason: nil, breaksStructure: false, isBeyondNumeric: true) }

    private static let nul: [JSONCase] = [#""\u0000""#, #"["a\u0000b"]"#, #"{"\u0000":1}"#].map {
        JSONCase(text: Array($0.utf8), reason: .encoding, breaksStructure: false, isNUL: true)
    }

    /// Texts that are not JSON, but whose end is clear.
    private static let invalid: [JSONCase] =
        [
            // numbers
            "01", "-01", "00", "+1", "-", "--1", "1.", ".5", "-.5", "1.e1", "1e", "1e+", "1E-", "1ee2",
            "1e1.5", "0x10", "1_000", "1a", "1.2.3", "1 000", "- 1", "0e+-1", "NaN",
            "-NaN", "Infinity", "-Infinity", "inf", "1f", "1L", "0b1", "\u{FF11}", "1\u{A0}", "0.", "2.e3",
            "9.e+", "-1x", "012", "1+2", "-foo",
            // literals
            "tru", "truee", "True", "TRUE", "nul", "nulll", "NULL", "fals", "undefined", "nil", "t", "n", "a",
            "*", "\u{0}", "\u{0B}1", "\u{0C}1",
            "\u{A0}1", "\u{2060}1", "\u{FEFF}1", "1\u{FEFF}", "// 1", "/* 1 */ 1", "1#2", "'a'", "`a`",
            "\\u0041", "@",
            // strings
            #""\a""#, #""\'""#, #""\x41""#, #""\0""#, #""\u""#, #""\u12""#, #""\u123g""#, #""\u 123""#,
            #""\U0041""#, #""\u-123""#, #""\u+123""#, #""\ ""#, #""\é""#, #""\🌋""#,
            "\"\n\"", "\"\t\"", "\"\r\"", "\"\u{0}\"", "\"\u{1F}\"", "\"a\u{1}b\"", "\"0123456789\u{1}\"",
            #""a" "b""#, #""a"b"#, #""a"1"#,
            // arrays
            "[,]", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1:2]", "[[] []]", "[1,\n,2]", "[a]", "[1]x", "[1][2]",
            "[*]", "[1e]",
            // objects
            "{,}", #"{"a"}"#, #"{"a":}"#, #"{:1}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1,,"b":2}"#,
            #"{"a" 1}"#, #"{"a"::1}"#, #"{"a":1 "b":2}"#, "{1:1}", "{a:1}", "{'a':1}",
            "{null:1}", #"{"a":1;"b":2}"#, #"{"a":1}#"#, #"{"a":1}/**/"#, #"{[]:1}"#, "{{}:1}", #"{"a":a b}"#,
            // nesting
            String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000),
            String(repeating: #"{"a":"#, count: 200) + "1" + String(repeating: "}", count: 200),
        ].map { JSONCase(text: Array($0.utf8), reason: .syntax, breaksStructure: false) }
        + [
            #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"\u0061":3}"#, #"{"":1,"":2}"#, #"{"\u00e9":1,"é":2}"#,
            #"{"\ud83c\udf0b":1,"🌋":2}"#, #"[{"x":{"a":1,"a":1}}]"#,
            "{" + (0..<40).map { #""\#($0)":1,"# }.joined() + #""17":1}"#,
        ].map { JSONCase(text: Array($0.utf8), reason: .duplicate, breaksStructure: false) }
        + [
            #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800a""#, #""\ud800\n""#, #""\udc00\ud800""#,
            #"["\uDFFF"]"#, #"{"\ud800":1}"#, #""\ud800\u0041""#, #""\ud83c\u""#,
        ].map { JSONCase(text: Array($0.utf8), reason: .encoding, breaksStructure: false) }

    /// Texts whose end is unknown.
    private static let broken: [JSONCase] = [
        #"""#, #""a"#, #""\""#, #""a\\\""#, "[", "[1", "[1,", "{", #"{"a""#, #"{"a":1"#, "]", "}", "[1}",
        #"{"a":1]"#, "[[1]", "[1]]", #"{"a":{}"#, "[\"a]", "[\"", "[}", "{]", "[{]}",
    ].map { JSONCase(text: Array($0.utf8), reason: .syntax, breaksStructure: true) }

    private static let invalidUTF8: [JSONCase] = [
        [0x80], [0xBF], [0xC3], [0xC3, 0x28], [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x80, 0xAF],
        [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1],
        [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
        [0xF0, 0x9F, 0x8C], [0xF0, 0x28, 0x8C, 0xBC], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80],
        [0xFE], [0xFF], [0xC3, 0xA9, 0x80], [0xE9],
    ].flatMap { (bytes: [UInt8]) in
        let quoted = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
        let name = Array("{".utf8) + quoted + Array(":1}".utf8)
        return [quoted, name].map { JSONCase(text: $0, reason: .encoding, breaksStructure: false) }
    }
}

extension String {
    fileprivate func replacingFirst(_ part: String, with replacement: String) -> String {
        guard let range = firstRange(of: part) else { return self }
        return replacingCharacters(in: range, with: replacement)
    }

    private func replacingCharacters(in range: Range<Index>, with replacement: String) -> String {
        var copy = self
        copy.replaceSubrange(range, with: replacement)
        return copy
    }
}
