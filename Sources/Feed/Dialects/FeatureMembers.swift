/// The properties and the coordinates of a feature, as ranges of its bytes.
struct FeatureMembers {
    let bytes: UnsafeBufferPointer<UInt8>
    private var properties: [(name: JSONText, value: Range<Int>)] = []
    private var coordinates: [Range<Int>] = []
    private var geometry: String?

    /// Returns nil if the feature is not valid JSON, or if an object in it has two members with the same name.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        var cursor = JSONCursor(bytes)
        do {
            var names = MemberNames()
            try cursor.readObject { (cursor, name) throws(JSONError) in
                guard names.insert(name, in: bytes) else { throw cursor.duplicate(name) }
                if name.equals("properties", in: bytes), cursor.next == UInt8(ascii: "{") {
                    var names = MemberNames()
                    try cursor.readObject { (cursor, name) throws(JSONError) in
                        guard names.insert(name, in: bytes) else { throw cursor.duplicate(name) }
                        properties.append((name, try cursor.skippedValue()))
                    }
                } else if name.equals("geometry", in: bytes), cursor.next == UInt8(ascii: "{") {
                    var names = MemberNames()
                    try cursor.readObject { (cursor, name) throws(JSONError) in
                        guard names.insert(name, in: bytes) else { throw cursor.duplicate(name) }
                        if name.equals("type", in: bytes) {
                            let isText = cursor.next == UInt8(ascii: "\"")
                            geometry = isText ? try cursor.readString().string(from: bytes) : ""
                            return isText ? () : try cursor.skipValue()
                        }
                        guard name.equals("coordinates", in: bytes), cursor.next == UInt8(ascii: "[") else {
                            return try cursor.skipValue()
                        }
                        try cursor.readArray { (cursor) throws(JSONError) in
                            coordinates.append(try cursor.skippedValue())
                        }
                    }
                } else {
                    try cursor.skipValue()
                }
            }
            try cursor.expectEnd()
        } catch {
            return nil
        }
    }

    /// - Throws: `Rejection` if the geometry is something else than a point.
    func expectPoint() throws(Rejection) {
        guard geometry ?? "Point" == "Point" else {
            throw Rejection(.type, "geometry.type is not \"Point\"")
        }
        guard coordinates.count <= 3 else {
            throw Rejection(.range, "coordinates has more than three elements")
        }
    }

    /// The range of a property's value; nil if the property is missing or null.
    func value(_ name: StaticString) -> Range<Int>? {
        guard let found = properties.first(where: { $0.name.equals(name, in: bytes) })?.value,
            !bytes.extracting(found).elementsEqual("null".utf8)
        else { return nil }
        return found
    }

    /// The text of a property; nil if the value is not a text.
    func text(_ name: StaticString) -> String? {
        guard let value = value(name), bytes[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        var cursor = JSONCursor(bytes.extracting(value))
        do { return try cursor.readString().string(from: cursor.bytes) } catch { return nil }
    }

    func number(_ name: StaticString) throws(Rejection) -> DecimalText? {
        try value(name).map { (value) throws(Rejection) in try number(value, "\(name)") }
    }

    func coordinate(_ index: Int) throws(Rejection) -> DecimalText? {
        guard index < coordinates.count, !bytes.extracting(coordinates[index]).elementsEqual("null".utf8)
        else {
            return nil
        }
        return try number(coordinates[index], "coordinates")
    }

    private func number(_ value: Range<Int>, _ name: String) throws(Rejection) -> DecimalText {
        guard case .number(let number) = DecimalText.read(bytes.extracting(value)) else {
            throw Rejection(.type, "\(name): expected a number")
        }
        return number
    }

    func time(_ name: StaticString) throws(Rejection) -> Instant? {
        guard value(name) != nil else { return nil }
        guard var text = text(name), let time = text.withUTF8({ TimeText.read($0) }) else {
            throw Rejection(.type, "\(name): not a time")
        }
        return time
    }

    func requiredTime(_ name: StaticString) throws(Rejection) -> Instant {
        guard let time = try time(name) else { throw Rejection(.missing, "\(name) is missing") }
        return time
    }

    /// Appends all properties other than `names` as they are. A property is left out if it is null, or if its name means
    /// something else in the USGS's format.
    func appendOthers(than names: [StaticString], to writer: inout FeatureWriter) {
        for (name, value) in properties {
            guard !names.contains(where: { name.equals($0, in: bytes) }) else { continue }
            let text = name.string(from: bytes)
            guard !Property.allCases.contains(where: { $0.feedName == text }),
                !bytes.extracting(value).elementsEqual("null".utf8)
            else { continue }
            writer.append(text.utf8, json: bytes.extracting(value))
        }
    }
}

extension JSONCursor {
    fileprivate mutating func skippedValue() throws(JSONError) -> Range<Int> {
        skipWhitespace()
        let start = position
        try skipValue()
        return start..<position
    }
}
