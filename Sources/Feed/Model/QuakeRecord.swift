/// One earthquake as decoded from a feature's bytes: numbers, and ranges of the bytes.
///
/// A record copies no bytes, so that the texts of a million records need no memory. Every use of a text needs the
/// feature's bytes again.
public struct QuakeRecord {
    public enum Value {
        case null
        case text(JSONText)
        case number(Double)
        case integer(Int32)
        case flag(Bool)
        /// Milliseconds since 1970-01-01 UTC.
        case time(Int64)
        /// A list with a comma before, between and after the elements: see `JSONText.forEachElement`.
        case list(JSONText)
        /// The event's id: see `withCode`.
        case code
        /// The properties that are not declared: see `appendExtra`.
        case extra
    }

    /// Indexed by the properties' raw values. The array may have more elements than there are properties; `FeatureDecoder` checks
    /// that it has enough.
    @usableFromInline var values = InlineArray<48, Value>(repeating: .null)
    /// One bit for each property that has a value.
    private(set) var present: UInt64 = 0
    /// The event's id. If it is nil, the id is `net` followed by the network's own code.
    var id: JSONText?
    /// The properties that are not declared. The range of a name includes its quotes.
    var extra: [(name: Range<Int>, value: Range<Int>)] = []

    static var capacity: Int { 48 }

    public internal(set) subscript(property: Property) -> Value {
        @inline(__always) get { values[property.rawValue] }
        @inline(__always) set {
            values[property.rawValue] = newValue
            if case .null = newValue { return }
            present |= property.bit
        }
    }

    @inlinable
    public func forEachValue(_ body: (Value) -> Void) {
        for index in 0..<Property.count { body(values[index]) }
    }

    /// When the event was revised; nil if it has no time of revision. Then `updated` is the origin time.
    public var revised: Instant? {
        guard case .time(let updated) = self[.updated] else { return nil }
        if case .time(updated) = self[.time] { return nil }
        return Instant(milliseconds: updated)
    }

    func text(_ property: Property) -> JSONText? {
        if case .text(let text) = self[property] { text } else { nil }
    }

    /// Calls `body` with the event's id in UTF-8. The id is the `code` in the table.
    public func withCode<Result>(
        in bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result {
        if let id { return try id.withUTF8(in: bytes, body) }
        var code: [UInt8] = []
        for part in [Property.net, .netCode] { text(part)?.append(to: &code, from: bytes) }
        return try code.withUnsafeBufferPointer(body)
    }

    /// Appends the properties that are not declared as one JSON object, with the values as the feed wrote them.
    public func appendExtra(to output: inout [UInt8], from bytes: UnsafeBufferPointer<UInt8>) {
        output.append(UInt8(ascii: "{"))
        for (index, member) in extra.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            output.append(contentsOf: bytes.extracting(member.name))
            output.append(UInt8(ascii: ":"))
            output.append(contentsOf: bytes.extracting(member.value))
        }
        output.append(UInt8(ascii: "}"))
    }
}

extension Property {
    var bit: UInt64 { 1 &<< UInt64(truncatingIfNeeded: rawValue) }
}
