/// A decimal number as written in a document. It is written to JSON with the same digits, without rounding.
struct DecimalText {
    private let isNegative: Bool
    /// The digits before the point, without leading zeros.
    private let whole: Slice<UnsafeBufferPointer<UInt8>>
    private let fraction: Slice<UnsafeBufferPointer<UInt8>>
    private let exponent: Int

    enum Reading {
        case number(DecimalText)
        /// `NaN` or `INF`, which XML allows as numbers, or a word for a missing value.
        case unknown
        case notANumber
    }

    /// Reads `-12.5`, `+1`, `.5`, `5.`, `007` or `1.07e5`, without any text around it.
    static func read(_ text: UnsafeBufferPointer<UInt8>) -> Reading {
        var rest = text[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        let unsigned = rest
        let whole = rest.prefix(while: \.isDigit)
        rest = rest[whole.endIndex...]
        var fraction = rest.prefix(0)
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.dropFirst().prefix(while: \.isDigit)
            rest = rest[fraction.endIndex...]
        }
        guard !whole.isEmpty || !fraction.isEmpty else {
            let name = String(decoding: unsigned.prefix(9), as: UTF8.self).lowercased()
            return text.saysNothing || ["inf", "infinity", "na"].contains(name) ? .unknown : .notANumber
        }
        var exponent = 0
        if let first = rest.first, first | 0x20 == UInt8(ascii: "e") {
            guard let read = Int(String(decoding: rest.dropFirst().prefix(12), as: UTF8.self)),
                rest.count <= 12
            else { return .notANumber }
            exponent = read
            rest = rest.suffix(0)
        }
        guard rest.isEmpty else { return .notANumber }
        return .number(
            DecimalText(
                isNegative: isNegative, whole: whole.drop { $0 == UInt8(ascii: "0") }, fraction: fraction,
                exponent: exponent))
    }

    /// Reads a number that may be missing.
    ///
    /// - Parameter name: what the error calls the number.
    /// - Returns: nil if the value is missing or unknown.
    static func optional(
        _ text: UnsafeBufferPointer<UInt8>, named name: String
    ) throws(Rejection) -> DecimalText? {
        switch read(text) {
        case .number(let number): return number
        case .unknown: return nil
        case .notANumber: throw Rejection(.type, "\(name): not a number")
        }
    }

    /// The number converted from metres to kilometres.
    var inKilometres: DecimalText {
        DecimalText(isNegative: isNegative, whole: whole, fraction: fraction, exponent: exponent - 3)
    }
    var negated: DecimalText {
        DecimalText(isNegative: !isNegative, whole: whole, fraction: fraction, exponent: exponent)
    }
    var isZero: Bool { whole.isEmpty && fraction.allSatisfy { $0 == UInt8(ascii: "0") } }

    var value: Double {
        var text: [UInt8] = []
        append(to: &text)
        return Double(String(decoding: text, as: UTF8.self)) ?? .nan
    }

    func append(to bytes: inout [UInt8]) {
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        if whole.isEmpty { bytes.append(UInt8(ascii: "0")) } else { bytes.append(contentsOf: whole) }
        if !fraction.isEmpty {
            bytes.append(UInt8(ascii: "."))
            bytes.append(contentsOf: fraction)
        }
        if exponent != 0 {
            bytes.append(UInt8(ascii: "e"))
            bytes.append(integer: exponent)
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether a field is empty, or contains a placeholder for a missing value: hyphens (INGV), or a word such as `None`.
    var saysNothing: Bool {
        if allSatisfy({ $0 == UInt8(ascii: "-") }) { return true }
        guard count <= 4 else { return false }
        return ["none", "null", "nan", "nil", "n/a"].contains { word in
            lazy.map(\.asciiLowercased).elementsEqual(word.utf8)
        }
    }
}
