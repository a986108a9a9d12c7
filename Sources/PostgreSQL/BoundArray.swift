/// A `text[]` to bind to a statement, built up from bytes in UTF-8.
public struct BoundTexts: Bindable {
    public static var sqlType: UInt32 { 1009 }
    private var array: BinaryArray

    /// - Parameter count: how many elements will be appended; with another number, the server refuses the statement.
    public init(count: Int) {
        array = BinaryArray(elementType: 25, count: count, capacity: 16 * count)
    }

    public mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        array.append(text)
    }

    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: array.bytes) }
}

/// A `bigint[]` to bind to a statement.
public struct BoundIntegers: Bindable {
    public static var sqlType: UInt32 { 1016 }
    private var array: BinaryArray

    /// - Parameter count: how many elements will be appended; with another number, the server refuses the statement.
    public init(count: Int) {
        array = BinaryArray(elementType: 20, count: count, capacity: 12 * count)
    }

    public mutating func append(_ value: Int64) {
        withUnsafeBytes(of: value.bigEndian) { array.append($0.bindMemory(to: UInt8.self)) }
    }

    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: array.bytes) }
}

/// An array of one dimension without nulls, in the binary form of PostgreSQL's `array_recv`.
private struct BinaryArray {
    private(set) var bytes: [UInt8] = []

    init(elementType: Int32, count: Int, capacity: Int) {
        bytes.reserveCapacity(20 + capacity)
        // Dimensions, no null bitmap, type, number of elements, lower bound.
        for number in [1, 0, elementType, Int32(count), 1] { append(number) }
    }

    mutating func append(_ element: UnsafeBufferPointer<UInt8>) {
        append(Int32(truncatingIfNeeded: element.count))
        bytes.append(contentsOf: element)
    }

    private mutating func append(_ number: Int32) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
