/// One earthquake as it stands in a feature's bytes: numbers, and ranges of the bytes.
///
/// A record holds no bytes of its own, so that a million of them need no memory; every use of a text names the
/// feature's bytes again. For anything that outlives them, make a `Quake`.
public struct QuakeRecord {
    /// The feature's `id`; nil when it has none, and is then `net` followed by `code`.
    var id: JSONText?
    public internal(set) var net = JSONText(start: 0, end: 0, isEscaped: false)
    public internal(set) var netCode = JSONText(start: 0, end: 0, isEscaped: false)
    public internal(set) var magnitude: Double?
    public internal(set) var magnitudeType: JSONText?
    public internal(set) var place: JSONText?
    public internal(set) var title: JSONText?
    public internal(set) var url: JSONText?
    public internal(set) var detail: JSONText?
    public internal(set) var status: JSONText?
    public internal(set) var alert: JSONText?
    public internal(set) var type: JSONText?
    /// Origin time, in milliseconds since 1970-01-01 UTC.
    public internal(set) var time: Int64 = 0
    /// When the event was last revised upstream, in milliseconds since 1970-01-01 UTC.
    public internal(set) var updated: Int64 = 0
    /// Offset of local time from UTC at the epicentre, in minutes.
    public internal(set) var tz: Int32?
    public internal(set) var felt: Int32?
    public internal(set) var sig: Int32?
    public internal(set) var nst: Int32?
    public internal(set) var cdi: Double?
    public internal(set) var mmi: Double?
    public internal(set) var dmin: Double?
    public internal(set) var rms: Double?
    public internal(set) var gap: Double?
    public internal(set) var tsunami: Bool?
    /// Comma lists, with empty ends: see `JSONText.forEachElement`.
    public internal(set) var ids: JSONText?
    public internal(set) var sources: JSONText?
    public internal(set) var types: JSONText?
    /// Degrees.
    public internal(set) var longitude = 0.0
    /// Degrees, −90 to 90.
    public internal(set) var latitude = 0.0
    /// Kilometres, negative above sea level.
    public internal(set) var depth: Double?
    /// Properties that this version does not know: ranges of the name with its quotes, and of the value.
    var extra: [(name: Range<Int>, value: Range<Int>)] = []

    /// Calls `body` with the event's id, the table's `code`, in UTF-8.
    public func withCode<Result>(
        in bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result {
        if let id { return try id.withUTF8(in: bytes, body) }
        var code: [UInt8] = []
        net.append(to: &code, from: bytes)
        netCode.append(to: &code, from: bytes)
        return try code.withUnsafeBufferPointer(body)
    }

    public var hasExtra: Bool { !extra.isEmpty }

    /// Appends the unknown properties as one JSON object, their values as the feed wrote them.
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
