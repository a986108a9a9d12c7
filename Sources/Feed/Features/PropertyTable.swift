import Glibc

/// The declared properties, prepared for decoding. The table finds a property by the bytes of its name, and lists the required
/// properties and the limits of numbers.
struct PropertyTable {
    /// The properties in `geometry.coordinates`, in the order of its elements.
    let coordinates: [Property]
    /// The required properties that can't be derived from others.
    let requiredBits: UInt64
    let limits: [(Property, Double)]

    private let names: [Name]
    /// For each name, the name that followed it last time. Feeds always write their members in the same order, so this guess is
    /// nearly always right.
    private var successors: [Int]
    private var previous: Int?
    private var guess = 0

    init() {
        let names = Property.allCases.compactMap { property in
            if case .property(let name) = property.declaration.origin { Name(name, property) } else { nil }
        }
        self.names = names
        coordinates =
            Property.allCases.compactMap { property in
                if case .coordinate(let index) = property.declaration.origin {
                    (index, property)
                } else {
                    nil
                }
            }.sorted { $0.0 < $1.0 }.map(\.1)
        requiredBits =
            Property.allCases.filter { $0.isRequired && ![.code, .net, .netCode].contains($0) }
            .reduce(0) { $0 | $1.bit }
        limits = Property.allCases.compactMap { property in
            property.declaration.limit.map { (property, $0) }
        }
        successors = names.indices.map { ($0 + 1) % names.count }
    }

    mutating func beginFeature() {
        previous = nil
        guess = 0
    }

    @inline(__always)
    mutating func property(_ name: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> (
        Property, Property.Kind
    )? {
        if name.isEscaped {
            let text = name.string(from: bytes)
            return names.first { $0.property.feedName == text }.map { ($0.property, $0.kind) }
        }
        let start = name.key(in: bytes)
        if !names[guess].equals(name, start, in: bytes) {
            guard let index = names.firstIndex(where: { $0.equals(name, start, in: bytes) }) else {
                return nil
            }
            if let previous { successors[previous] = index }
            guess = index
        }
        let found = guess
        previous = found
        guess = successors[found]
        return (names[found].property, names[found].kind)
    }
}

private struct Name {
    let property: Property
    let kind: Property.Kind
    private let text: StaticString
    private let count: Int
    /// The first eight bytes as one number. Few names are longer.
    private let key: UInt64

    init(_ text: StaticString, _ property: Property) {
        self.property = property
        kind = property.kind
        self.text = text
        count = text.utf8CodeUnitCount
        key = text.withUTF8Buffer { $0.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    }

    @inline(__always)
    func equals(_ other: JSONText, _ key: UInt64, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard self.key == key, other.rawCount == count else { return false }
        return count <= 8 || memcmp(text.utf8Start + 8, bytes.baseAddress! + other.start + 8, count - 8) == 0
    }
}

extension JSONText {
    /// The first eight bytes as one number, the first byte the least significant.
    @inline(__always)
    fileprivate func key(in bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard start + 8 <= bytes.count else {
            return bytes[start..<end].prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        let word = UnsafeRawPointer(bytes.baseAddress! + start).loadUnaligned(as: UInt64.self)
        let missing = max(0, 8 - rawCount)
        return missing == 8 ? 0 : UInt64(littleEndian: word) & ~0 >> UInt64(8 * missing)
    }
}
