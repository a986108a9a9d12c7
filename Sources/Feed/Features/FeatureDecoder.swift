/// Decodes one GeoJSON feature of the USGS summary format, and rejects rather than guesses.
///
/// A decoder is kept for a whole document: it learns the order in which the feed writes its members.
public struct FeatureDecoder {
    private var names = PropertyNames()

    public init() {}

    /// Decodes the feature with which the bytes begin, and returns its size, too; nil when they don't hold all of it, or
    /// when `decode` would reject it.
    public mutating func decodePrefix(_ bytes: UnsafeBufferPointer<UInt8>) -> (
        record: QuakeRecord, size: Int
    )? {
        var feature = FeatureReader()
        var cursor = JSONCursor(bytes)
        do {
            try feature.read(&cursor, &names)
            return (try feature.checked(bytes), cursor.position)
        } catch {
            // Only with all its bytes it can be told why: `decode` does.
            return nil
        }
    }

    /// Decodes a whole feature.
    ///
    /// - Throws: `Rejection`, when it is not JSON, lacks one of id (or net and code), time, updated, longitude
    ///   and latitude, or holds a value that its column could not.
    public mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>) throws(Rejection) -> QuakeRecord {
        var feature = FeatureReader()
        var cursor = JSONCursor(bytes)
        do {
            try feature.read(&cursor, &names)
            try cursor.expectEnd()
        } catch {
            // Broken JSON is the graver fault, wherever in the feature it stands.
            if case .refused = error.kind, let fault = JSONCursor.fault(in: bytes) {
                throw Rejection(fault, member: nil)
            }
            throw Rejection(error, member: feature.member)
        }
        return try feature.checked(bytes)
    }
}

/// The work on one feature. Not copyable, because it is large and nothing needs a second one.
private struct FeatureReader: ~Copyable {
    /// What is being read, for the rejection's text.
    private var property: Property?
    private var coordinate: StaticString?
    private var record = QuakeRecord()
    private var id: JSONText?
    private var net: JSONText?
    private var netCode: JSONText?
    private var time: Int64?
    private var updated: Int64?
    private var longitude: Double?
    private var latitude: Double?
    private var seenProperties: UInt64 = 0
    private var unknownNames = MemberNames()

    var member: String? { property?.name ?? coordinate?.description }

    // MARK: The feature

    mutating func read(_ cursor: inout JSONCursor, _ names: inout PropertyNames) throws(JSONError) {
        let bytes = cursor.bytes
        var otherNames = MemberNames()
        var seen = FeatureMembers()
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let member = FeatureMembers(name, in: bytes)
            let isNew = member.isEmpty ? otherNames.insert(name, in: bytes) : seen.isDisjoint(with: member)
            guard isNew else { throw cursor.error(.duplicate, at: name.start) }
            seen.formUnion(member)
            switch member {
            case .type: try readConstant(&cursor, "Feature", of: "type")
            case .id: id = try readID(&cursor)
            case .properties: try readProperties(&cursor, &names)
            case .geometry: try readGeometry(&cursor)
            default: try cursor.skipValue()
            }
        }
        try cursor.expectNoNUL()
    }

    private func readConstant(
        _ cursor: inout JSONCursor, _ constant: StaticString, of member: StaticString
    ) throws(JSONError) {
        guard cursor.next == UInt8(ascii: "\"") else {
            throw cursor.refusal(.type, "\(member) is not \"\(constant)\"")
        }
        let text = try cursor.readString()
        guard text.equals(constant, in: cursor.bytes) else {
            throw cursor.refusal(.type, "\(member) is not \"\(constant)\"")
        }
    }

    private func readID(_ cursor: inout JSONCursor) throws(JSONError) -> JSONText? {
        if try cursor.consumeNull() { return nil }
        guard cursor.next == UInt8(ascii: "\"") else {
            throw cursor.refusal(.type, "id is not a string")
        }
        return try cursor.readString()
    }

    // MARK: Properties

    private mutating func readProperties(
        _ cursor: inout JSONCursor, _ names: inout PropertyNames
    ) throws(JSONError) {
        guard cursor.next == UInt8(ascii: "{") else {
            throw cursor.refusal(.type, "properties is not an object")
        }
        names.beginFeature()
        try cursor.readObject { (cursor, name) throws(JSONError) in
            if let found = names.property(name, in: cursor.bytes) {
                let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: found.rawValue)
                guard seenProperties & bit == 0 else { throw cursor.error(.duplicate, at: name.start) }
                seenProperties |= bit
                property = found
                try read(found, &cursor)
            } else {
                try readUnknown(name, &cursor)
            }
            try cursor.expectNoNUL()
            property = nil
        }
    }

    private mutating func readUnknown(_ name: JSONText, _ cursor: inout JSONCursor) throws(JSONError) {
        guard unknownNames.insert(name, in: cursor.bytes) else {
            throw cursor.error(.duplicate, at: name.start)
        }
        cursor.sawOversizedNumber = false
        let start = cursor.position
        try cursor.skipValue()
        if cursor.sawOversizedNumber {
            throw cursor.refusal(.range, "an unknown property holds a number beyond PostgreSQL's numeric")
        }
        record.extra.append((name.start - 1..<name.end + 1, start..<cursor.position))
    }

    private mutating func read(_ property: Property, _ cursor: inout JSONCursor) throws(JSONError) {
        switch property {
        case .mag: record.magnitude = try cursor.readDouble()
        case .place: record.place = try cursor.readText()
        case .time: time = try cursor.readTimestamp()
        case .updated: updated = try cursor.readTimestamp()
        case .tz: record.tz = try cursor.readInt32()
        case .url: record.url = try cursor.readText()
        case .detail: record.detail = try cursor.readText()
        case .felt: record.felt = try cursor.readInt32()
        case .cdi: record.cdi = try cursor.readDouble()
        case .mmi: record.mmi = try cursor.readDouble()
        case .alert: record.alert = try cursor.readText()
        case .status: record.status = try cursor.readText()
        case .tsunami: record.tsunami = try cursor.readFlag()
        case .sig: record.sig = try cursor.readInt32()
        case .net: net = try cursor.readText()
        case .code: netCode = try cursor.readText()
        case .ids: record.ids = try cursor.readText()
        case .sources: record.sources = try cursor.readText()
        case .types: record.types = try cursor.readText()
        case .nst: record.nst = try cursor.readInt32()
        case .dmin: record.dmin = try cursor.readDouble()
        case .rms: record.rms = try cursor.readDouble()
        case .gap: record.gap = try cursor.readDouble()
        case .magType: record.magnitudeType = try cursor.readText()
        case .type: record.type = try cursor.readText()
        case .title: record.title = try cursor.readText()
        }
    }

    // MARK: Geometry

    private mutating func readGeometry(_ cursor: inout JSONCursor) throws(JSONError) {
        if try cursor.consumeNull() { return }
        guard cursor.next == UInt8(ascii: "{") else {
            throw cursor.refusal(.type, "geometry is not an object")
        }
        var otherNames = MemberNames()
        var seen = GeometryMembers()
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let member = GeometryMembers(name, in: cursor.bytes)
            let isNew =
                member.isEmpty ? otherNames.insert(name, in: cursor.bytes) : seen.isDisjoint(with: member)
            guard isNew else { throw cursor.error(.duplicate, at: name.start) }
            seen.formUnion(member)
            switch member {
            case .type: try readConstant(&cursor, "Point", of: "geometry.type")
            case .coordinates: try readCoordinates(&cursor)
            default: try cursor.skipValue()
            }
        }
    }

    private mutating func readCoordinates(_ cursor: inout JSONCursor) throws(JSONError) {
        guard cursor.next == UInt8(ascii: "[") else {
            throw cursor.refusal(.type, "coordinates is not an array")
        }
        var index = 0
        try cursor.readArray { (cursor) throws(JSONError) in
            switch index {
            case 0:
                coordinate = "longitude"
                longitude = try cursor.readDouble()
            case 1:
                coordinate = "latitude"
                latitude = try cursor.readDouble()
            case 2:
                coordinate = "depth"
                record.depth = try cursor.readDouble()
            default: throw cursor.refusal(.type, "coordinates has more than three elements")
            }
            coordinate = nil
            index += 1
        }
    }

    // MARK: What has to be there

    mutating func checked(_ bytes: UnsafeBufferPointer<UInt8>) throws(Rejection) -> QuakeRecord {
        guard let time else { throw Rejection(.missing, "time is missing") }
        guard let updated else { throw Rejection(.missing, "updated is missing") }
        guard let longitude else { throw Rejection(.missing, "longitude is missing") }
        guard let latitude else { throw Rejection(.missing, "latitude is missing") }
        // Two conventions are in use: −180 to 180, and 0 to 360.
        guard abs(longitude) <= 360 else { throw Rejection(.range, "longitude is beyond ±360") }
        guard abs(latitude) <= 90 else { throw Rejection(.range, "latitude is beyond ±90") }
        record.time = time
        record.updated = updated
        record.longitude = longitude
        record.latitude = latitude
        try checkIdentity(bytes)
        return record
    }

    /// A missing `net` or `code` is what the other one leaves of the id.
    private mutating func checkIdentity(_ bytes: UnsafeBufferPointer<UInt8>) throws(Rejection) {
        record.id = id
        switch (id, net, netCode) {
        case (_, let net?, let netCode?):
            record.net = net
            record.netCode = netCode
        case (let id?, let net?, nil):
            guard let rest = id.removing(prefix: net, in: bytes) else {
                throw Rejection(.missing, "code is missing")
            }
            record.net = net
            record.netCode = rest
        case (let id?, nil, let netCode?):
            guard let rest = id.removing(suffix: netCode, in: bytes) else {
                throw Rejection(.missing, "net is missing")
            }
            record.net = rest
            record.netCode = netCode
        case (nil, _, _): throw Rejection(.missing, "id is missing, and net and code are not both there")
        case (_, nil, nil): throw Rejection(.missing, "net and code are missing")
        }
        let count = record.withCode(in: bytes) { $0.count }
        guard count > 0 else { throw Rejection(.missing, "id is empty") }
        guard count <= 64 else { throw Rejection(.range, "id is longer than 64 bytes") }
    }
}

extension JSONCursor {
    fileprivate func expectNoNUL() throws(JSONError) {
        if sawNUL { throw refusal(.encoding, "NUL character in a string") }
    }
}

/// The members of a feature that are read; others are checked and skipped.
private struct FeatureMembers: OptionSet {
    let rawValue: UInt8

    static let type = Self(rawValue: 1)
    static let properties = Self(rawValue: 2)
    static let geometry = Self(rawValue: 4)
    static let id = Self(rawValue: 8)
}

extension FeatureMembers {
    /// The one with this name; empty when it is another.
    init(_ name: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {
        if name.equals("type", in: bytes) {
            self = .type
        } else if name.equals("properties", in: bytes) {
            self = .properties
        } else if name.equals("geometry", in: bytes) {
            self = .geometry
        } else if name.equals("id", in: bytes) {
            self = .id
        } else {
            self = []
        }
    }
}

/// The members of a geometry that are read.
private struct GeometryMembers: OptionSet {
    let rawValue: UInt8

    static let type = Self(rawValue: 1)
    static let coordinates = Self(rawValue: 2)
}

extension GeometryMembers {
    init(_ name: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {
        if name.equals("type", in: bytes) {
            self = .type
        } else if name.equals("coordinates", in: bytes) {
            self = .coordinates
        } else {
            self = []
        }
    }
}

extension JSONText {
    /// What is left of an id; nil when nothing is, or escapes make ranges meaningless.
    fileprivate func removing(prefix: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> JSONText? {
        guard !isEscaped, !prefix.isEscaped, prefix.rawCount < rawCount,
            bytes[start..<start + prefix.rawCount].elementsEqual(bytes[prefix.start..<prefix.end])
        else { return nil }
        return JSONText(start: start + prefix.rawCount, end: end, isEscaped: false)
    }

    fileprivate func removing(suffix: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> JSONText? {
        guard !isEscaped, !suffix.isEscaped, suffix.rawCount < rawCount,
            bytes[end - suffix.rawCount..<end].elementsEqual(bytes[suffix.start..<suffix.end])
        else { return nil }
        return JSONText(start: start, end: end - suffix.rawCount, isEscaped: false)
    }
}
