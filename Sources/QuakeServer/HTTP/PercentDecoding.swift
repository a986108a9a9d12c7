import Feed

extension Collection<UInt8> where SubSequence == Self {
    /// The bytes with each sequence such as `%41` replaced by its byte (RFC 3986, 2.1); nil if a `%` is not followed by two
    /// hexadecimal digits.
    ///
    /// - Parameter plusIsSpace: whether a `+` means a space, as in forms (https://url.spec.whatwg.org/#urlencoded-parsing).
    func percentDecoded(plusIsSpace: Bool = false) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = self
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+") where plusIsSpace: result.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else {
                    return nil
                }
                result.append(high << 4 | low)
            default: result.append(byte)
            }
        }
        return result
    }
}
