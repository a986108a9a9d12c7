/// A `text[]` without nulls to bind to a statement, built up from bytes in UTF-8.
public struct BoundTexts: Bindable {
    public static var sqlType: UInt32 { 1009 }
    private var array = BinaryArray(elementType: 25)

    public init(minimumCapacity: Int = 0) {
        array.bytes.reserveCapacity(20 + 16 * minimumCapacity)
    }

    public var count: Int { Int(array.count) }

    public mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        array.appendElement(text)
    }

    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: array.finished) }
}

/// A `bigint[]` without nulls to bind to a statement.
public struct BoundIntegers: Bindable {
    public static var sqlType: UInt32 { 1016 }
    private var array = BinaryArray(elementType: 20)

    public init(minimumCapacity: Int = 0) {
        array.bytes.reserveCapacity(20 + 12 * minimumCapacity)
    }

    public mutating func append(_ value: Int64) {
        withUnsafeBytes(of: value.bigEndian) { array.appendElement($0.bindMemory(to: UInt8.self)) }
    }

    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: array.finished) }
}

/// An array of one dimension as `array_recv` takes it.
private struct BinaryArray {
    var bytes: [UInt8] = []
    private(set) var count: Int32 = 0

    init(elementType: Int32) {
        // Dimensions, no null bitmap, type, number of elements, lower bound.
        for number in [1, 0, elementType, 0, 1] { append(number) }
    }

    mutating func appendElement(_ element: UnsafeBufferPointer<UInt8>) {
        append(Int32(truncatingIfNeeded: element.count))
        bytes.append(contentsOf: element)
        count += 1
    }

    private mutating func append(_ number: Int32) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    var finished: [UInt8] {
        var bytes = bytes
        withUnsafeBytes(of: count.bigEndian) { bytes.replaceSubrange(12..<16, with: $0) }
        return bytes
    }
}
