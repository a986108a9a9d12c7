import Feed
import HTTPTypes

extension HTTPRequest {
    /// Whether the request has one `Host` field with a valid value (RFC 9112, 3.2).
    ///
    /// - Parameter isNeeded: whether the field is required, as in HTTP/1.1.
    func hasHost(isNeeded: Bool) -> Bool {
        // The first `Host` field became the authority; a second one would still be among the fields.
        guard headerFields[.host] == nil else { return false }
        return authority.map(Self.isHost) ?? !isNeeded
    }

    /// Whether the text is `uri-host [ ":" port ]` (RFC 3986, 3.2.2 and 3.2.3). The host may be empty.
    private static func isHost(_ text: String) -> Bool {
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = rest[..<end].dropFirst()
            guard address.contains(UInt8(ascii: ":")),
                address.allSatisfy({ $0.hexDigit != nil || ":.".utf8.contains($0) })
            else { return false }
            rest = rest[end...].dropFirst()
        } else {
            let name = rest.prefix { $0 != UInt8(ascii: ":") }
            guard name.allSatisfy(\.isInRegisteredName),
                !name.contains(UInt8(ascii: "%")) || name.percentDecoded() != nil
            else { return false }
            rest = rest[name.endIndex...]
        }
        return rest.isEmpty
            || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(\.isDigit) && rest.count <= 6
    }
}

extension HTTPField.Name {
    fileprivate static let host = HTTPField.Name("Host")!
}

extension UInt8 {
    fileprivate var isInRegisteredName: Bool {
        isAlphanumeric || "-._~!$&'()*+,;=%".utf8.contains(self)
    }
}
