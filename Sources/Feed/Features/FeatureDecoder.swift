/// Decodes one GeoJSON feature of the USGS summary format. It never guesses: an ambiguous feature is rejected.
///
/// Use one decoder for a whole document: it learns the order in which the feed writes its members.
public struct FeatureDecoder {
    private var table = PropertyTable()

    public init() {
        precondition(Property.count <= QuakeRecord.capacity, "QuakeRecord has too little room")
    }

    /// Decodes the feature at the start of the bytes, and also returns the feature's size in bytes. Returns nil if the bytes do
    /// not contain the whole feature, or if `decode` would reject it.
    public mutating func decodePrefix(_ bytes: UnsafeBufferPointer<UInt8>) -> (
        record: QuakeRecord, size: Int
    )? {
        var feature = FeatureReader()
        var cursor = JSONCursor(bytes)
        do {
            try feature.read(&cursor, &table)
            return (try feature.checked(bytes, table), cursor.position)
        } catch {
            // The error may only mean that bytes are missing. `decode` reports the reason once all bytes have arrived.
            return nil
        }
    }

    /// Decodes a whole feature.
    ///
    /// - Throws: `Rejection` when the feature is not JSON, lacks id (or net and code), time, updated, longitude or
    ///   latitude, or has a value that its column can't hold.
    public mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>) throws(Rejection) -> QuakeRecord {
        var feature = FeatureReader()
        var cursor = JSONCursor(bytes)
        do {
            try feature.read(&cursor, &table)
            try cursor.expectEnd()
        } catch {
            // A feature that is not valid JSON is rejected for this reason, even if a refused value comes before the invalid
            // bytes.
            if error.isRefusal, let fault = JSONCursor.fault(in: bytes) {
                throw Rejection(fault, member: nil)
            }
            throw Rejection(error, member: feature.member)
        }
        return try feature.checked(bytes, table)
    }
}

/// Reads one feature. Not copyable, because it is large and a copy is never needed.
private struct FeatureReader: ~Copyable {
    /// The property that is being read, for the message of a rejection.
    private var property: Property?
    private var record = QuakeRecord()
    private var seenProperties: UInt64 = 0
    private var unknownNames = MemberNames()

    var member: String? { property?.declaration.name }

    // MARK: The feature

    private static let members: [StaticString] = ["type", "properties", "geometry", "id"]

    mutating func read(_ cursor: inout JSONCursor, _ table: inout PropertyTable) throws(JSONError) {
        try cursor.readMembers(Self.members) { (cursor, index) throws(JSONError) in
            switch index {
            case 0: try readConstant(&cursor, "Feature", of: "type")
            case 1: try readProperties(&cursor, &table)
            case 2: try readGeometry(&cursor, table)
            default: try readID(&cursor)
            }
        }
        try cursor.expectNoNUL()
    }

    private func readConstant(
        _ cursor: inout JSONCursor, _ constant: StaticString, of member: StaticString
    ) throws(JSONError) {
        guard cursor.next == UInt8(ascii: "\""), try cursor.readString().equals(constant, in: cursor.bytes)
        else {
            throw cursor.refusal(.type, "\(member) is not \"\(constant)\"")
        }
    }

    private mutating func readID(_ cursor: inout JSONCursor) throws(JSONError) {
        if try cursor.consumeNull() { return }
        guard cursor.next == UInt8(ascii: "\"") else {
            throw cursor.refusal(.type, "id is not a string")
        }
        record.id = try cursor.readString()
    }

    // MARK: Properties

    private mutating func readProperties(
        _ cursor: inout JSONCursor, _ table: inout PropertyTable
    ) throws(JSONError) {
        guard cursor.next == UInt8(ascii: "{") else {
            throw cursor.refusal(.type, "properties is not an object")
        }
        table.beginFeature()
        try cursor.readObject { (cursor, name) throws(JSONError) in
            if let (found, kind) = table.property(name, in: cursor.bytes) {
                guard seenProperties & found.bit == 0 else { throw cursor.duplicate(name) }
                seenProperties |= found.bit
                property = found
                record[found] = try cursor.readValue(of: kind)
            } else {
                try readUnknown(name, &cursor)
            }
            try cursor.expectNoNUL()
            property = nil
        }
    }

    private mutating func readUnknown(_ name: JSONText, _ cursor: inout JSONCursor) throws(JSONError) {
        guard unknownNames.insert(name, in: cursor.bytes) else {
            throw cursor.duplicate(name)
        }
        cursor.sawOversizedNumber = false
        let start = cursor.position
        try cursor.skipValue()
        if cursor.sawOversizedNumber {
            throw cursor.refusal(
                .range, "an unknown property contains a number that PostgreSQL's numeric can't hold")
        }
        // PostgreSQL could store the numbers, but could not write them out again.
        guard cursor.addedDigits <= 1 << 20 else {
            throw cursor.refusal(
                .range, "the numbers have more than 1 MiB of digits when they are written without exponents")
        }
        // Another Quakes server adds this member (`includeearthquake`). It describes the earthquake that the event belongs to
        // there, and is not a property of the event.
        if name.equals("earthquake", in: cursor.bytes) { return }
        record.extra.append((name.start - 1..<name.end + 1, start..<cursor.position))
    }

    // MARK: Geometry

    private static let geometryMembers: [StaticString] = ["type", "coordinates"]

    private mutating func readGeometry(
        _ cursor: inout JSONCursor, _ table: borrowing PropertyTable
    ) throws(JSONError) {
        if try cursor.consumeNull() { return }
        guard cursor.next == UInt8(ascii: "{") else {
            throw cursor.refusal(.type, "geometry is not an object")
        }
        try cursor.readMembers(Self.geometryMembers) { (cursor, index) throws(JSONError) in
            switch index {
            case 0: try readConstant(&cursor, "Point", of: "geometry.type")
            default: try readCoordinates(&cursor, table)
            }
        }
    }

    private mutating func readCoordinates(
        _ cursor: inout JSONCursor, _ table: borrowing PropertyTable
    ) throws(JSONError) {
        guard cursor.next == UInt8(ascii: "[") else {
            throw cursor.refusal(.type, "coordinates is not an array")
        }
        var index = 0
        try cursor.readArray { (cursor) throws(JSONError) in
            guard index < table.coordinates.count else {
                throw cursor.refusal(.type, "coordinates has more than three elements")
            }
            let found = table.coordinates[index]
            property = found
            record[found] = try cursor.readValue(of: .number)
            property = nil
            index += 1
        }
    }

    // MARK: Required properties

    mutating func checked(
        _ bytes: UnsafeBufferPointer<UInt8>, _ table: borrowing PropertyTable
    ) throws(Rejection) -> QuakeRecord {
        if record.text(.status)?.equalsInAnyCase("deleted", in: bytes) == true {
            throw Rejection(.status, "the event was deleted")
        }
        let missing = table.requiredBits & ~record.present
        if missing != 0 {
            let first = Property.allCases.first { $0.bit & missing != 0 }
            throw Rejection(.missing, "\(first?.declaration.name ?? "a property") is missing")
        }
        for (property, limit) in table.limits {
            guard case .number(let number) = record[property], abs(number) > limit else { continue }
            throw Rejection(.range, "\(property.declaration.name) is beyond ±\(Int(limit))")
        }
        try checkIdentity(bytes)
        record[.code] = .code
        if !record.extra.isEmpty { record[.extra] = .extra }
        return record
    }

    /// Checks that the event has an id of 1 to 64 bytes, `net` and `code`. If `code` is missing, it is the id without `net` at
    /// its beginning. If `net` is missing, it is the id without `code` at its end.
    private mutating func checkIdentity(_ bytes: UnsafeBufferPointer<UInt8>) throws(Rejection) {
        switch (record.id, record.text(.net), record.text(.netCode)) {
        case (_, .some, .some): break
        case (let id?, let net?, nil):
            guard let rest = id.removing(prefix: net, in: bytes) else {
                throw Rejection(.missing, "code is missing")
            }
            record[.netCode] = .text(rest)
        case (let id?, nil, let netCode?):
            guard let rest = id.removing(suffix: netCode, in: bytes) else {
                throw Rejection(.missing, "net is missing")
            }
            record[.net] = .text(rest)
        case (nil, _, _): throw Rejection(.missing, "id is missing, and so is net or code")
        case (_, nil, nil): throw Rejection(.missing, "net and code are missing")
        }
        let count = record.withCode(in: bytes) { $0.count }
        guard count > 0 else { throw Rejection(.missing, "id is empty") }
        guard count <= Quake.codeLimit else { throw Rejection(.range, "id is longer than 64 bytes") }
    }
}

extension JSONCursor {
    fileprivate func expectNoNUL() throws(JSONError) {
        if sawNUL { throw refusal(.encoding, "NUL character in a string") }
    }

    /// Reads an object in which no name may occur twice. `body` is called for each member that is one of the `names`, with the
    /// name's index, and must read the member's value. Other members are checked and skipped.
    @inline(__always)
    fileprivate mutating func readMembers(
        _ names: [StaticString], _ body: (inout JSONCursor, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        let bytes = bytes
        var otherNames = MemberNames()
        var seen: UInt8 = 0
        try readObject { (cursor, name) throws(JSONError) in
            guard let index = names.firstIndex(where: { name.equals($0, in: bytes) }) else {
                guard otherNames.insert(name, in: bytes) else { throw cursor.duplicate(name) }
                return try cursor.skipValue()
            }
            guard seen >> index & 1 == 0 else { throw cursor.duplicate(name) }
            seen |= 1 << index
            try body(&cursor, index)
        }
    }
}

extension JSONText {
    /// The id without the prefix; nil if the id does not begin with the prefix, if nothing is left, or if one of the two texts
    /// contains escapes.
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
