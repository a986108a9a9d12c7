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
    /// No name has more than eight bytes, so that each is compared as one number.
    private let keys: [UInt64] = Property.allCases.map {
        $0.name.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    /// The property that followed each one last time: feeds write their members in one order, so that the first
    /// guess is nearly always right.
    private var successors: [Property] = Property.allCases.map { property in
        Property(rawValue: (property.rawValue + 1) % Property.allCases.count) ?? .mag
    }
    private var previous: Property?
    private var guess = Property.mag

    mutating func beginFeature() {
        previous = nil
        guess = .mag
    }

    @inline(__always)
    mutating func property(_ name: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> Property? {
        guard let key = key(of: name, in: bytes) else { return nil }
        if keys[guess.rawValue] != key {
            guard let index = keys.firstIndex(of: key), let found = Property(rawValue: index) else {
                return nil
            }
            if let previous { successors[previous.rawValue] = found }
            guess = found
        }
        let found = guess
        previous = found
        guess = successors[found.rawValue]
        return found
    }

    /// The name as a number, its first byte the lowest; nil when it is too long. A NUL in it is harmless: the
    /// feature is rejected for it.
    @inline(__always)
    private func key(of name: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> UInt64? {
        if name.isEscaped {
            var unescaped: [UInt8] = []
            name.append(to: &unescaped, from: bytes)
            return unescaped.count > 8 ? nil : unescaped.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard (1...8).contains(name.rawCount) else { return nil }
        if name.start + 8 <= bytes.count {
            let word = UnsafeRawPointer(bytes.baseAddress! + name.start).loadUnaligned(as: UInt64.self)
            return UInt64(littleEndian: word) & ~0 >> UInt64(64 - 8 * name.rawCount)
        }
        return bytes[name.start..<name.end].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
