import Feed

extension [UInt8] {
    /// Appends an identifier such as `smi:earthquake.usgs.gov/fdsnws/event/1/query?eventid=us7000abcd`. Its authority is the host
    /// of the event's page, or `local` if the event has no usable host.
    ///
    /// An identifier contains only characters of the schema's `ResourceIdentifier`. Any other byte is written as `~` and two
    /// hexadecimal digits, and so is `~` itself, so that two codes never have the same identifier.
    package mutating func append(publicIDOf code: UnsafeRawBufferPointer, at url: UnsafeRawBufferPointer?) {
        append(text: "smi:")
        if let host = url.flatMap({ FeedIdentity.host(in: $0) }), (3...60).contains(host.count),
            host.allSatisfy({ $0.isAlphanumeric || "-._".utf8.contains($0) }), host[0].isAlphanumeric
        {
            append(contentsOf: host.lazy.map(\.asciiLowercased))
        } else {
            append(text: "local")
        }
        append(text: "/fdsnws/event/1/query?eventid=")
        append(escaped: code, by: "~", keeping: "-._")
    }

    /// Converts kilometres to metres and appends the length, with the same digits. A multiplication could change these digits:
    /// 16.1 km would become 16100.000000000002 m.
    mutating func append(metres kilometres: Double) {
        let start = count
        append(decimal: kilometres)
        guard let point = self[start...].firstIndex(of: UInt8(ascii: ".")),
            !self[point...].contains(UInt8(ascii: "e"))
        else {
            removeSubrange(start...)
            return append(decimal: kilometres * 1000)
        }
        // The decimal point moves three digits to the right. Zeros are appended until at least one digit follows the point.
        remove(at: point)
        while count < point + 4 { append(UInt8(ascii: "0")) }
        insert(UInt8(ascii: "."), at: point + 3)
        let first = kilometres.sign == .minus ? start + 1 : start
        let zeros = self[first..<point + 2].prefix { $0 == UInt8(ascii: "0") }
        removeSubrange(first..<first + zeros.count)
    }
}
