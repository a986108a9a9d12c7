import Feed

extension [UInt8] {
    /// Such as `smi:earthquake.usgs.gov/fdsnws/event/1/query?eventid=us7000abcd`: the service is the host of the event's page.
    ///
    /// An identifier has no other characters than those of the schema's `ResourceIdentifier`. Another byte is written as `~`
    /// and two hexadecimal digits, and so is `~` itself, so that two codes never have one identifier.
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

    /// Kilometres in metres, with the same digits: 28.9 km is 28900 m, where a multiplication may give 28900.000000000004.
    mutating func append(metres kilometres: Double) {
        let start = count
        append(decimal: kilometres)
        guard let point = self[start...].firstIndex(of: UInt8(ascii: ".")),
            !self[point...].contains(UInt8(ascii: "e"))
        else {
            removeSubrange(start...)
            return append(decimal: kilometres * 1000)
        }
        // The point moves by three digits. There may be too few of them, and one has to follow it.
        remove(at: point)
        while count < point + 4 { append(UInt8(ascii: "0")) }
        insert(UInt8(ascii: "."), at: point + 3)
        let first = kilometres.sign == .minus ? start + 1 : start
        let zeros = self[first..<point + 2].prefix { $0 == UInt8(ascii: "0") }
        removeSubrange(first..<first + zeros.count)
    }
}
