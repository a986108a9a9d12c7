/// The properties of a feature that this version knows, named as in the feed
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php).
///
/// A new one is added here and in `QuakeRecord`; the compiler then asks for it in the decoder.
enum Property: Int, CaseIterable {
    case mag, place, time, updated, tz, url, detail, felt, cdi, mmi, alert, status, tsunami, sig
    case net, code, ids, sources, types, nst, dmin, rms, gap, magType, type, title

    var name: String { String(describing: self) }
}

/// Finds properties by the bytes of their names.
struct PropertyNames {
    private let names: [[UInt8]] = Property.allCases.map { Array($0.name.utf8) }
    /// The property that followed each one last time: feeds write their members in one order, so that the first
    /// guess is nearly always right.
    private var successors: [Property] = Property.allCases.map { property in
        Property(rawValue: (property.rawValue + 1) % Property.allCases.count) ?? .mag
    }
    private var guess = Property.mag

    mutating func beginFeature() {
        guess = .mag
    }

    mutating func property(_ name: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> Property? {
        if name.isEscaped {
            var unescaped: [UInt8] = []
            name.append(to: &unescaped, from: bytes)
            return names.firstIndex(of: unescaped).flatMap(Property.init)
        }
        if matches(guess, name, bytes) {
            defer { guess = successors[guess.rawValue] }
            return guess
        }
        guard let found = Property.allCases.first(where: { matches($0, name, bytes) }) else { return nil }
        guess = successors[found.rawValue]
        return found
    }

    /// Tells which property really followed `previous`.
    mutating func learn(_ property: Property, after previous: Property?) {
        if let previous { successors[previous.rawValue] = property }
    }

    @inline(__always)
    private func matches(_ property: Property, _ name: JSONText, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool
    {
        names[property.rawValue].withUnsafeBufferPointer { expected in
            guard expected.count == name.rawCount else { return false }
            for index in expected.indices where expected[index] != bytes[name.start + index] { return false }
            return true
        }
    }
}
