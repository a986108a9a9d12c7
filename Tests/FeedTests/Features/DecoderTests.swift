import Foundation
import TestSupport
import Testing

@testable import Feed

@Suite struct DecoderTests {
    // MARK: Required properties

    @Test(arguments: [
        ("time", feature(time: nil)), ("time", feature(time: "null")), ("updated", feature(updated: nil)),
        ("updated", feature(updated: "null")), ("longitude", feature(coordinates: nil)),
        ("longitude", feature(coordinates: "[]")),
        ("longitude", feature(coordinates: "[null,1,2]")), ("latitude", feature(coordinates: "[1]")),
        ("latitude", feature(coordinates: "[1,null]")),
        ("longitude", feature(coordinates: nil, members: #""geometry":null,"#)),
        ("longitude", feature(coordinates: nil, members: #""geometry":{},"#)),
        ("id", feature(id: nil, net: nil)), ("id", feature(id: "null", code: nil)),
        ("id", feature(id: #""""#)), ("net", feature(net: nil, code: nil)),
        ("net", feature(net: "null", code: #""other""#)), ("code", feature(net: #""ci""#, code: nil)),
        ("code", feature(id: #""us""#, code: nil)),
        ("time", "{}"), ("time", #"{"type":"Feature","id":"us1"}"#),
    ])
    func aRequiredMemberThatIsMissingIsNamed(member: String, feature: String) throws {
        let refused = try #require(rejection(of: feature))
        #expect(refused.reason == .missing)
        #expect(refused.message.contains(member))
    }

    @Test(arguments: [
        (feature(), "us7000abcd", "us", "7000abcd"), (feature(id: nil), "us7000abcd", "us", "7000abcd"),
        (feature(id: "null"), "us7000abcd", "us", "7000abcd"),
        (feature(net: nil), "us7000abcd", "us", "7000abcd"),
        (feature(code: "null"), "us7000abcd", "us", "7000abcd"),
        (feature(id: #""\u0075s1""#, code: #""1""#), "us1", "us", "1"),
        (feature(id: #""at00pu7alg""#, net: #""at""#, code: nil), "at00pu7alg", "at", "00pu7alg"),
    ])
    func aMissingIdNetOrCodeIsDerivedFromTheOthers(
        feature: String, code: String, net: String, netCode: String
    )
        throws
    {
        let quake = try decode(feature)
        #expect(quake.code == code)
        #expect(quake[.net] == .text(net))
        #expect(quake[.netCode] == .text(netCode))
    }

    @Test func anIdHasAtMost64BytesWithOrWithoutEscapes() throws {
        let longest = String(repeating: "é", count: 32)
        #expect(try decode(feature(id: "\"\(longest)\"")).code == longest)
        #expect(try decode(feature(id: "\"\(longest.replacing("é", with: "\\u00e9"))\"")).code == longest)
        #expect(rejection(of: feature(id: "\"\(longest)x\""))?.reason == .range)
        #expect(
            rejection(of: feature(id: "\"\(longest.replacing("é", with: "\\u00e9"))x\""))?.reason == .range)
        #expect(rejection(of: feature(id: nil, code: "\"\(longest)\""))?.reason == .range)
    }

    @Test(
        arguments: Property.allCases.filter {
            $0.kind == .text && $0.feedName.map { !["net", "code"].contains($0) } ?? false
        })
    func aTextHasAtMost8KiBWithOrWithoutEscapes(property: Property) throws {
        let name = try #require(property.feedName)
        func quake(_ text: String) throws -> Quake {
            try decode(feature(properties: "\"\(name)\":\"\(text)\","))
        }
        let longest = String(repeating: "é", count: 4096)
        #expect(try quake(longest)[property] == .text(longest))
        #expect(try quake(longest.replacing("é", with: "\\u00e9"))[property] == .text(longest))
        for text in [longest + "x", longest.replacing("é", with: "\\u00e9") + "x"] {
            #expect(throws: Rejection(.size, "\(name): longer than 8 KiB")) { try quake(text) }
        }
    }

    @Test func aListMayBeLongerThan8KiB() throws {
        let ids = (0..<2000).map { "us7000\($0)" }
        let quake = try decode(feature(properties: "\"ids\":\",\(ids.joined(separator: ",")),\","))
        #expect(quake[.ids] == .list(ids))
    }

    @Test func optionalMembersMayBeMissingOrNull() throws {
        let names = Property.allCases.compactMap(\.feedName).filter {
            !["mag", "net", "code", "time", "updated"].contains($0)
        }
        let bare = try decode(feature(coordinates: "[10,20]"))
        let nulls = try decode(
            feature(coordinates: "[10,20,null]", properties: names.map { "\"\($0)\":null," }.joined()))
        #expect(bare == nulls)
        #expect([Property.depth, .extra, .ids, .tsunami].allSatisfy { bare[$0] == .null })
    }

    // MARK: Ranges

    private static let integers: [(String, Int32?)] = [
        ("0", 0), ("-0", 0), ("2147483647", .max), ("-2147483648", .min), ("1e3", 1000), ("1.5e1", 15),
        ("20e-1", 2), ("3.0", 3), ("-7.000", -7), ("0e999", 0),
        ("0.000e-99", 0), ("2147483648", nil), ("-2147483649", nil), ("1e10", nil),
        ("9223372036854775808", nil), ("99999999999999999999", nil), ("123456789012345678901234567890", nil),
        ("1e99", nil), ("1e-2", nil), ("1.5", nil),
    ]

    @Test(arguments: ["tz", "felt", "sig", "nst"], integers)
    func anIntegerColumnAccepts32BitIntegers(property: String, number: (text: String, value: Int32?)) throws {
        let feature = feature(properties: #""\#(property)":\#(number.text),"#)
        guard let value = number.value else {
            let refused = try #require(rejection(of: feature))
            let isFraction = ["1e-2", "1.5"].contains(number.text)
            #expect(refused.reason == (isFraction ? .type : .range))
            #expect(refused.message.hasPrefix("\(property): "))
            return
        }
        let quake = try decode(feature)
        #expect([Property.tz, .felt, .sig, .nst].compactMap { quake[$0].integer } == [value])
    }

    @Test(arguments: ["mag", "cdi", "mmi", "dmin", "rms", "gap"])
    func aDoubleColumnAcceptsFiniteNumbers(property: String) throws {
        func quake(_ number: String) throws -> Quake {
            try decode(
                feature(properties: #""\#(property)":\#(number),"#).replacing(
                    property == "mag" ? #","mag":1.5}"# : "\u{0}", with: "}"))
        }
        func value(_ number: String) throws -> Double? {
            let quake = try quake(number)
            return Property.allCases.first { $0.feedName == property }.flatMap { quake[$0].number }
        }
        if property != "mag" {
            #expect(try value("1.7976931348623157e308") == .greatestFiniteMagnitude)
        }
        #expect(try value("5e-324") == .leastNonzeroMagnitude)
        #expect(try value("-0.0")?.sign == .minus)
        #expect(try value("0e-999999999999") == 0)
        #expect(try value("-1.2") == -1.2)
        for text in [
            "1e309", "-1e309", "1.7976931348623159e308", "1e-400", "-1e-99999999999999999999",
            "1" + String(repeating: "0", count: 400),
        ] {
            #expect(throws: Rejection(.range, "\(property): number outside the range of double precision")) {
                try quake(text)
            }
        }
    }

    @Test(arguments: [
        ("12", true), ("-12.0", true), ("12.0000001", false), ("-12.01", false), ("210", false),
        ("3e9", false),
        ("1e308", false), ("-1e308", false),
    ])
    func aMagnitudeIsBetweenMinus12And12(text: String, isTaken: Bool) throws {
        let feature = feature().replacing(#""mag":1.5"#, with: #""mag":\#(text)"#)
        #expect(feature.contains(text))
        #expect(rejection(of: feature) == (isTaken ? nil : Rejection(.range, "mag is beyond ±12")))
    }

    @Test(arguments: [
        ("-62135596800000", true), ("-62135596800001", false), ("253402300799999", true),
        ("253402300800000", false), ("-210866803200000", false), ("9224318015999999", false), ("0", true),
        ("1.5e3", true), ("1e18", false),
        ("9223372036854775807", false), ("1e400", false),
    ])
    func aTimeIsInTheYears1To9999(text: String, isTaken: Bool) {
        #expect(rejection(of: feature(time: text))?.reason == (isTaken ? nil : .range))
        #expect(rejection(of: feature(updated: text))?.reason == (isTaken ? nil : .range))
    }

    @Test(arguments: ["1.5", "1e-1", "\"1\"", "true", "[]", "{}"]) func aTimeIsAWholeNumber(text: String) {
        #expect(rejection(of: feature(time: text))?.reason == .type)
    }

    @Test(
        arguments: [
            ("[0,90]", nil), ("[0,-90,0]", nil), ("[0,90.0000001]", .range), ("[0,-91]", .range),
            ("[360,0]", nil), ("[-180,0]", nil), ("[-360.1,0]", .range), ("[1e308,0]", .range),
            ("[0,0,-3]", nil), ("[0,0,1e999]", .range), ("[0,0,6400]", nil), ("[0,0,-6400.1]", .range),
            ("[0,0,0,0]", .type), ("[\"0\",0]", .type), ("[[0],0]", .type), ("{}", .type), ("\"0,0\"", .type),
            ("null", .type), ("[0,0,true]", .type), ("[0,0,null]", nil), ("[,]", .syntax),
            ("[0,0,]", .syntax),
        ] as [(String, Rejection.Reason?)])
    func coordinatesAreLongitudeLatitudeAndOptionallyDepth(coordinates: String, reason: Rejection.Reason?) {
        #expect(rejection(of: feature(coordinates: coordinates))?.reason == reason)
    }

    @Test(arguments: [("0", false), ("1", true), ("1.0", true), ("-0", false)]) func tsunamiIsAFlag(
        text: String, flag: Bool
    ) throws {
        #expect(try decode(feature(properties: #""tsunami":\#(text),"#))[.tsunami] == .flag(flag))
    }

    @Test(
        arguments: [
            (feature(properties: #""tsunami":2,"#), .range),
            (feature(properties: #""tsunami":true,"#), .type), (feature(properties: #""place":1,"#), .type),
            (feature(properties: #""ids":["us1"],"#), .type),
            (feature(id: "1"), .type), (feature(id: "{}"), .type), (feature(net: "1"), .type),
            (feature(properties: #""mag":2,"#), .duplicate),
            (feature(properties: #""\u006dag":2,"#), .duplicate),
            (feature(members: #""id":"us2","#), .duplicate), (feature(members: #""x":1,"x":1,"#), .duplicate),
            (feature(members: #""geometry":{},"#), .duplicate),
            (feature(properties: #""x":1,"\u0078":2,"#), .duplicate),
            (feature().replacing("Feature", with: "Quake"), .type),
            (feature().replacing("\"Feature\"", with: "1"), .type),
            (feature().replacing("Point", with: "LineString"), .type), (#"{"properties":[]}"#, .type),
            (#"{"geometry":[]}"#, .type),
            ("[]", .syntax), ("17", .syntax), ("null", .syntax), ("\"text\"", .syntax),
            (feature() + "x", .syntax), ("", .syntax),
            (feature(properties: #""place":"\u0000","#), .encoding), (feature(id: #""us\u0000""#), .encoding),
        ] as [(String, Rejection.Reason)])
    func aWrongFeatureIsRejectedWithTheReason(feature: String, reason: Rejection.Reason) {
        #expect(rejection(of: feature)?.reason == reason)
    }

    /// The syntax error is reported even if another fault comes first, because broken JSON cannot be trusted at all.
    @Test func brokenJSONIsReportedBeforeOtherFaults() {
        #expect(rejection(of: feature(properties: #""tsunami":2,"place":tru,"#))?.reason == .syntax)
        #expect(rejection(of: feature(properties: #""tsunami":2,"#) + "}")?.reason == .syntax)
        #expect(rejection(of: feature(id: "7", members: #""x":"\ud800","#))?.reason == .encoding)
    }

    @Test func aRejectionNamesOnlyThePropertyAtFault() throws {
        #expect(
            rejection(of: feature(properties: #""x":"\u0000","felt":1,"#))?.message
                == "NUL character in a string")
        #expect(
            rejection(of: feature(properties: #""felt":1.5,"#))?.message
                == "felt: not an integer that fits 32 bits")
        let broken = try #require(rejection(of: feature(properties: #""felt":01,"#)))
        #expect(broken.message.hasPrefix("felt: malformed number at byte "))
        #expect(
            rejection(of: feature(coordinates: "[0,1e999]"))?.message
                == "latitude: number outside the range of double precision")
    }

    // MARK: Unknown properties

    @Test func theEarthquakeGroupInAnotherServersGeoJSONIsNotKept() throws {
        let group = #""earthquake":{"code":"us1","members":["us1","gfz:a"]},"#
        #expect(try decode(feature(properties: group))[.extra].json == nil)
        #expect(try decode(feature(properties: group + #""a":1,"#))[.extra].json == #"{"a":1}"#)
    }

    @Test func unknownPropertiesAreKeptAsTheyAreWritten() throws {
        let extra = #""a" : [1, {"b":"]}\\\""} ],"\u0062":1.50e+2,"":null,"é":"🌋\ud83c\udf0b","#
        let quake = try decode(feature(properties: extra))
        #expect(
            quake[.extra].json == #"{"a":[1, {"b":"]}\\\""} ],"\u0062":1.50e+2,"":null,"é":"🌋\ud83c\udf0b"}"#)
        let object =
            try JSONSerialization.jsonObject(with: Data(try #require(quake[.extra].json).utf8))
            as? [String: Any]
        #expect(object.map { Set($0.keys) } == ["a", "b", "", "é"])
    }

    @Test(arguments: [(7, true), (9, false)])
    func theNumbersOfAFeatureMayHaveAMebibyteOfDigits(count: Int, isTaken: Bool) {
        let numbers = Array(repeating: "1e131071", count: count).joined(separator: ",")
        #expect(
            rejection(of: feature(properties: #""x":[\#(numbers)],"y":1,"#))?.reason
                == (isTaken ? nil : .range))
    }

    @Test(arguments: [
        ("1e131071", true), ("9e131071", true), ("1e131072", false), ("10e131071", false), ("1e-16383", true),
        ("1e-16384", false), ("0.1e-16383", false), ("-1e999999999999", false),
    ])
    func aNumberAmongUnknownPropertiesHasToFitPostgreSQLsNumeric(number: String, isTaken: Bool) {
        #expect(rejection(of: feature(properties: #""x":\#(number),"#))?.reason == (isTaken ? nil : .range))
        #expect(
            rejection(of: feature(properties: #""x":{"a":[\#(number)]},"#))?.reason
                == (isTaken ? nil : .range))
        #expect(
            rejection(of: feature(members: #""x":\#(number),"#)) == nil,
            "a number that is not stored may be large")
    }

    @Test func aDecoderReadsMembersInAnyOrder() throws {
        var random = seededRandom()
        var decoder = FeatureDecoder()
        let values = Property.allCases.compactMap { property in
            property.feedName.map { name in
                switch property.kind {
                case .time, .number, .integer: "\"\(name)\":\(property.rawValue)"
                case .flag: "\"\(name)\":1"
                case .text, .list, .json: "\"\(name)\":\"\(name)\""
                }
            }
        }
        let end = #"},"geometry":{"coordinates":[1,2]},"id":"us1"}"#
        let expected = try decode(#"{"properties":{"# + values.joined(separator: ",") + end)

        for _ in 0..<500 {
            var shuffled = values + (0..<random.below(3)).map { "\"unknown\($0)\":1" }
            for index in shuffled.indices { shuffled.swapAt(index, random.below(shuffled.count)) }
            let text = #"{"properties":{"# + shuffled.joined(separator: ",") + end
            var quake = try ScanOutcome.Feature.decode(Array(text.utf8), with: &decoder).get()
            quake[.extra] = .null
            #expect(quake == expected)
        }
    }
}
