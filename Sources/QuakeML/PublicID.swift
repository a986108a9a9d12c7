import Feed

extension QuakeML {
    /// Such as `smi:earthquake.usgs.gov/fdsnws/event/1/query?eventid=us7000abcd`: the service is the host of the event's page.
    ///
    /// An identifier has no other characters than those of the schema's `ResourceIdentifier`. Another byte is written as `~`
    /// and two hexadecimal digits, and so is `~` itself, so that two codes never have one identifier.
    static func publicID(_ quake: Quake) -> String {
        let host = FeedIdentity.host(of: quake[.url].text).flatMap { host in
            let characters = host.utf8.allSatisfy { isUnreserved($0) }
            return characters && (3...60).contains(host.utf8.count)
                && host.utf8.first.map(isAlphanumeric) == true
                ? host : nil
        }
        var id = "smi:\(host ?? "local")/fdsnws/event/1/query?eventid="
        for byte in quake.code.utf8 {
            if isUnreserved(byte) {
                id.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                id += "~\(digits.count == 1 ? "0" : "")\(digits)"
            }
        }
        return id
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_")].contains(byte)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// Kilometres in metres, with the same digits: 28.9 km is 28900 m, where a multiplication may give 28900.000000000004.
    static func metres(_ kilometres: Double) -> String {
        let parts = "\(kilometres)".split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].contains("e") else { return "\(kilometres * 1000)" }
        let digits = parts[1] + String(repeating: "0", count: max(0, 3 - parts[1].count))
        let sign = kilometres.sign == .minus ? "-" : ""
        let whole = (parts[0].trimmingPrefix("-") + digits.prefix(3)).trimmingPrefix { $0 == "0" }
        return "\(sign)\(whole.isEmpty ? "0" : whole).\(digits.count > 3 ? digits.dropFirst(3) : "0")"
    }
}
