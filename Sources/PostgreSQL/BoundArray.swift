/// An array to bind to a statement, built up element by element.
public struct BoundArray<Element: BindableElement>: Bindable {
    public static var sqlType: UInt32 { Element.arrayType }
    private var bytes: [UInt8] = []
    /// The size of the head: the number of dimensions, a flag for nulls, the element type, the number of elements and the lower
    /// bound, as `array_recv` reads them.
    static var headSize: Int { 20 }

    /// - Parameter count: the exact number of elements that will be appended. If it is wrong, the server refuses the statement.
    public init(count: Int) {
        bytes.reserveCapacity(Self.headSize + 16 * count)
        for number in [1, 0, Int32(bitPattern: Element.sqlType), Int32(count), 1] { append(number) }
    }

    public mutating func append(_ element: UnsafeBufferPointer<UInt8>) {
        append(Int32(truncatingIfNeeded: element.count))
        bytes.append(contentsOf: element)
    }

    public mutating func append(_ element: Element) {
        (element.parameter.bytes ?? []).withUnsafeBufferPointer { append($0) }
    }

    private mutating func append(_ number: Int32) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: bytes) }
}
