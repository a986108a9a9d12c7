import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Feed

@Suite struct NumberTests {
    @Test func aMillionNumbersEqualThoseOfStrtod() throws {
        var random = seededRandom()
        for _ in 0..<1_000_000 {
            let text = random.number()
            let expected = strtod(text, nil)
            let number = read(text)
            guard number.double?.bitPattern != expected.bitPattern else { continue }
            #expect(number.double == nil && (expected.isInfinite || expected == 0), "\(text)")
        }
    }

    @Test func integersAreExact() {
        var random = seededRandom()
        for _ in 0..<100_000 {
            let value = Int64(bitPattern: random.next()) >> Int64(random.below(64))
            guard value > .min else { continue }
            #expect(read("\(value)").integer == value)
            #expect(read("\(value).000").integer == value)
            #expect(read("\(value).5").integer == nil)
        }
        #expect(read("9223372036854775807").integer == .max)
        #expect(read("9223372036854775808").integer == nil)
        #expect(read("-9223372036854775807").integer == -.max)
        #expect(read("922337203685477580.7e1").integer == .max)
        #expect(read("1" + String(repeating: "0", count: 300) + "e-300").integer == 1)
    }

    /// The number has a million leading zeros, and an exponent that cancels them.
    @Test func anExponentAfterAMillionDigitsStillCounts() {
        let number = read("0." + String(repeating: "0", count: 1_000_010) + "15e1000012")
        #expect(number.double == 15)
        #expect(number.integer == 15)
    }

    private func read(_ text: String) -> (double: Double?, integer: Int64?) {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            var cursor = JSONCursor(bytes)
            guard let number = try? cursor.readNumber(), cursor.position == bytes.count else {
                return (.nan, nil)
            }
            return (number.double(in: bytes), number.integer)
        }
    }
}

extension SplitMix64 {
    /// A JSON number in one of many forms.
    fileprivate mutating func number() -> String {
        let sign = chance(1, in: 3) ? "-" : ""
        switch below(8) {
        case 0: return "\(Double(bitPattern: next()))".isJSONNumber ?? "\(sign)0.1"
        case 1: return sign + "\(below(1_000_000)).\(digits(1 + below(6)))"
        case 2: return sign + "\(next() >> UInt64(below(64)))"
        case 3: return sign + "\(below(10)).\(digits(1 + below(30)))e\(below(700) - 350)"
        case 4: return sign + "\(1 + below(9))\(digits(below(40)))"
        case 5:
            return sign
                + "0.\(String(repeating: "0", count: below(30)))\(digits(1 + below(25)))E+\(below(40))"
        // A number halfway between two doubles, followed by one to three decimals.
        case 6:
            return sign
                + "\((UInt64(1) << 53 + UInt64(below(1 << 50))) &* 2 + 1).\(digits(below(3)))\(below(10))"
        default: return sign + "\(below(1 << 53))e\(below(60) - 30)"
        }
    }

    private mutating func digits(_ count: Int) -> String {
        String((0..<count).map { _ in Character(UnicodeScalar(UInt8(48 + below(10)))) })
    }
}

extension String {
    /// The text itself, or nil if Swift has printed `inf` or `nan`, which are not JSON.
    fileprivate var isJSONNumber: String? { hasSuffix("f") || hasSuffix("n") || hasSuffix(")") ? nil : self }
}
