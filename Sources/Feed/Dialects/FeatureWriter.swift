/// Writes an event of another format as a feature in the USGS's format. So events of all formats are processed by the same code:
/// the decoder, the batch that keeps the bytes, and the search for the event that the server refuses.
struct FeatureWriter {
    private(set) var bytes: [UInt8] = []
    /// The deletion, if the event was withdrawn. In that case, `bytes` has only the event's id.
    private(set) var deletion: StatedDeletion?

    /// Empties the feature. It then has no id, either.
    mutating func clear() {
        deletion = nil
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func begin(_ name: EventName) {
        clear()
        bytes.append(text: #"{"type":"Feature","id":"#)
        bytes.append(json: name.code.utf8)
        bytes.append(text: #","properties":{"#)
        append("net", name.net.utf8)
        append("code", name.netCode.utf8)
        if let url = name.url { append("url", url.utf8) }
    }

    mutating func write(onlyCode code: String) {
        clear()
        bytes.append(text: #"{"id":"#)
        bytes.append(json: code.utf8)
        bytes.append(text: "}")
    }

    /// - Parameter revised: when the withdrawal was published, if known. Versions that were revised after this time stay.
    /// - Throws: `Rejection` if no event can have the code.
    mutating func retract(_ name: EventName, revised: Instant?) throws(Rejection) {
        try StatedDeletion.check(name.code)
        write(onlyCode: name.code)
        deletion = StatedDeletion(
            code: name.code, at: revised.map { $0 + 1 }, service: FeedIdentity.host(of: name.url))
    }

    mutating func append(_ name: StaticString, _ text: some Collection<UInt8>) {
        if text.isEmpty { return }
        bytes.append(member: name)
        bytes.append(json: text)
    }

    mutating func append(_ name: StaticString, time: Instant) {
        bytes.append(member: name)
        bytes.append(integer: time.milliseconds)
    }

    mutating func append(_ name: StaticString, _ number: DecimalText?) {
        guard let number else { return }
        bytes.append(member: name)
        number.append(to: &bytes)
    }

    mutating func append(_ name: StaticString, rounded number: Double) {
        bytes.append(member: name)
        bytes.append(decimal: (number * 1e6).rounded() / 1e6)
    }

    mutating func append(_ name: some Collection<UInt8>, json: some Collection<UInt8>) {
        bytes.appendCommaBehindMember()
        bytes.append(json: name)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: json)
    }

    mutating func end(longitude: DecimalText?, latitude: DecimalText?, depth: DecimalText?) {
        bytes.append(text: #"},"geometry":{"type":"Point","coordinates":["#)
        append(longitude)
        bytes.append(UInt8(ascii: ","))
        append(latitude)
        bytes.append(UInt8(ascii: ","))
        append(depth)
        bytes.append(text: "]}}")
    }

    private mutating func append(_ coordinate: DecimalText?) {
        if let coordinate { coordinate.append(to: &bytes) } else { bytes.append(text: "null") }
    }
}

extension [UInt8] {
    /// Appends the name of an object's next member, with a comma in front of it unless it is the first member.
    mutating func append(member name: StaticString) {
        appendCommaBehindMember()
        append(UInt8(ascii: "\""))
        append(text: name)
        append(text: "\":")
    }

    /// Appends a comma, unless the object has just begun. An object has just begun if the last byte is an opening brace, because
    /// no value ends with that byte.
    fileprivate mutating func appendCommaBehindMember() {
        if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
    }
}
