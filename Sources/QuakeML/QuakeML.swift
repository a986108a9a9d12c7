import Feed

/// QuakeML 1.2 (Basic Event Description, https://quake.ethz.ch/quakeml): a document is `head`, any number of events, and
/// `tail`, so it can be written event by event.
///
/// An event has one origin and, if its magnitude is known, one magnitude; both are the preferred ones. An earthquake that several
/// agencies report may have the origins and magnitudes of all of them (`EarthquakeWriter`). Numbers have the same digits as in
/// the table; the depth is in metres. Properties that QuakeML does not have, such as felt reports and alerts, are left out, and
/// so are texts that are longer than the schema allows. An agency's event has a comment with the source and the terms of the
/// data.
public enum QuakeML {
    public static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <q:quakeml xmlns="http://quakeml.org/xmlns/bed/1.2" xmlns:q="http://quakeml.org/xmlns/quakeml/1.2">
        <eventParameters publicID="smi:local/quakes/catalogue">

        """

    public static let tail = """
        </eventParameters>
        </q:quakeml>

        """

    /// For each agency, the comment with the source and the terms of its data. Events of ComCat's networks need no comment,
    /// because they are in the public domain.
    private static let credits: [(net: [UInt8], comment: [UInt8])] = Agency.known.map { agency in
        var comment: [UInt8] = []
        comment.append(text: "<comment><text>data: ")
        comment += xmlEscaped(agency.attribution).utf8
        comment.append(text: "</text></comment>")
        return (Array(agency.name.utf8), comment)
    }

    /// The XML of one event, with a line feed at its end.
    public static func event(_ quake: Quake) -> String {
        var bytes: [UInt8] = []
        Event.with(quake) { append($0, to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func credit(of net: UnsafeRawBufferPointer) -> [UInt8]? {
        credits.first { $0.net.elementsEqual(net) }?.comment
    }

    package static func append(_ event: Event, to bytes: inout [UInt8]) {
        var id: [UInt8] = []
        id.append(publicIDOf: event.code, at: event.url)
        let info = [UInt8](infoOf: event)
        bytes.append(text: "<event publicID=\"")
        bytes += id
        bytes.append(text: "\"><preferredOriginID>")
        bytes.append(id, "/origin</preferredOriginID>")
        if event.magnitude != nil {
            bytes.append(text: "<preferredMagnitudeID>")
            bytes.append(id, "/magnitude</preferredMagnitudeID>")
        }
        bytes.append(headOf: event)
        if let credit = credit(of: event.net) { bytes += credit }
        bytes.append(originOf: event, id, info)
        if let magnitude = event.magnitude { bytes.append(magnitude, of: event, id, info) }
        bytes += info
        bytes.append(text: "</event>\n")
    }
}

extension [UInt8] {
    /// Creates the element `creationInfo` with the event's agency and the time of its last revision.
    init(infoOf event: QuakeML.Event) {
        self = []
        reserveCapacity(128)
        append(text: "<creationInfo>")
        if event.net.characterCount <= 64 { element("agencyID", escaped: event.net) }
        append(text: "<creationTime>")
        event.updated.appendText(to: &self)
        append(text: "</creationTime></creationInfo>")
    }

    mutating func append(headOf event: QuakeML.Event) {
        if let type = event.type { append(type: type) }
        // The description is written even without a place: QQuake reads the first description of each event, and fails if there
        // is none.
        append(text: "<description><text>")
        if let place = event.place { append(xmlEscaped: place) }
        append(text: "</text><type>earthquake name</type></description>")
    }

    mutating func append(originOf event: QuakeML.Event, _ id: [UInt8], _ info: [UInt8]) {
        append(text: "<origin publicID=\"")
        append(id, "/origin\"><time><value>")
        event.time.appendText(to: &self)
        append(text: "</value></time><latitude><value>")
        append(decimal: event.latitude)
        append(text: "</value></latitude><longitude><value>")
        append(decimal: event.longitude)
        append(text: "</value></longitude>")
        if let depth = event.depth {
            append(text: "<depth><value>")
            append(metres: depth)
            append(text: "</value></depth>")
        }
        append(qualityOf: event)
        if let status = event.status { append(evaluationOf: status) }
        self += info
        append(text: "</origin>")
    }

    /// - Parameter namesOrigin: whether to refer to the event's origin. If so, the document must contain that origin.
    mutating func append(
        _ magnitude: Double, of event: QuakeML.Event, _ id: [UInt8], _ info: [UInt8], namesOrigin: Bool = true
    ) {
        append(text: "<magnitude publicID=\"")
        append(id, "/magnitude\"><mag><value>")
        append(decimal: magnitude)
        append(text: "</value></mag>")
        if let type = event.magnitudeType, type.characterCount <= 32 { element("type", escaped: type) }
        if namesOrigin {
            append(text: "<originID>")
            append(id, "/origin</originID>")
        }
        self += info
        append(text: "</magnitude>")
    }

    /// Appends the element `quality`: the number of stations, the residual, the largest gap and the distance to the nearest
    /// station.
    private mutating func append(qualityOf event: QuakeML.Event) {
        guard event.stations != nil || event.residual != nil || event.gap != nil || event.distance != nil
        else { return }
        append(text: "<quality>")
        if let stations = event.stations { element("usedStationCount") { $0.append(integer: stations) } }
        if let residual = event.residual { element("standardError", residual) }
        if let gap = event.gap { element("azimuthalGap", gap) }
        if let distance = event.distance { element("minimumDistance", distance) }
        append(text: "</quality>")
    }

    private mutating func append(evaluationOf status: UnsafeRawBufferPointer) {
        switch String(decoding: status.map(\.asciiLowercased), as: UTF8.self) {
        case "automatic":
            append(text: "<evaluationMode>automatic</evaluationMode>")
            append(text: "<evaluationStatus>preliminary</evaluationStatus>")
        case "reviewed":
            append(text: "<evaluationMode>manual</evaluationMode>")
            append(text: "<evaluationStatus>reviewed</evaluationStatus>")
        case "deleted": append(text: "<evaluationStatus>rejected</evaluationStatus>")
        default: break
        }
    }

    /// Appends the type. A type that the schema does not have becomes `other event`. If the written type differs from the type in
    /// the table, a comment contains the type in the table.
    private mutating func append(type: UnsafeRawBufferPointer) {
        let spaced = type.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: " ") : $0.asciiLowercased }
        let name = EventType.synonyms[spaced] ?? spaced
        let isKnown = EventKind.known.contains(name)
        element("type") { $0 += isKnown ? name : Array("other event".utf8) }
        if isKnown, type.elementsEqual(name) { return }
        append(text: "<comment><text>type: ")
        append(xmlEscaped: type)
        append(text: "</text></comment>")
    }

    // MARK: Elements

    mutating func append(_ id: [UInt8], _ rest: StaticString) {
        self += id
        append(text: rest)
    }

    mutating func element(_ name: StaticString, _ content: (inout [UInt8]) -> Void) {
        append(UInt8(ascii: "<"))
        append(text: name)
        append(UInt8(ascii: ">"))
        content(&self)
        append(text: "</")
        append(text: name)
        append(UInt8(ascii: ">"))
    }

    private mutating func element(_ name: StaticString, _ number: Double) {
        element(name) { $0.append(decimal: number) }
    }

    private mutating func element(_ name: StaticString, escaped text: UnsafeRawBufferPointer) {
        element(name) { $0.append(xmlEscaped: text) }
    }
}

extension UnsafeRawBufferPointer {
    /// The number of Unicode scalars in the UTF-8 text.
    fileprivate var characterCount: Int { reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) } }
}

private enum EventType {
    /// The names that older feeds use for some types, with the schema's names for these types.
    static let synonyms = [
        Array("quarry".utf8): Array("quarry blast".utf8), Array("rock slide".utf8): Array("rockslide".utf8),
    ]
}
