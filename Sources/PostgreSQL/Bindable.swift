public protocol Bindable: Sendable {
    /// The type's object identifier in `pg_type`.
    static var sqlType: UInt32 { get }
    var parameter: Parameter { get }
}

public protocol BindableElement: Bindable {
    /// The object identifier of the array type in `pg_type`.
    static var arrayType: UInt32 { get }
}

/// One bound value, in the binary form of its type, so that text is not cut off at a NUL and numbers are not rounded.
public struct Parameter: Sendable {
    let type: UInt32
    /// nil means SQL's null.
    let bytes: [UInt8]?
}

extension Parameter {
    package static let timestamptz: UInt32 = 1184
    package static let timestamptzArray: UInt32 = 1185

    public static func time(microsecondsSince2000 microseconds: Int64) -> Parameter {
        Parameter(type: timestamptz, bigEndian: microseconds)
    }

    fileprivate init(type: UInt32, bigEndian value: some FixedWidthInteger) {
        self.init(type: type, bytes: withUnsafeBytes(of: value.bigEndian) { Array($0) })
    }
}

extension String: BindableElement {
    public static var sqlType: UInt32 { 25 }
    public static var arrayType: UInt32 { 1009 }
    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: Array(utf8)) }
}

extension Int: Bindable {
    public static var sqlType: UInt32 { 20 }
    public var parameter: Parameter { Parameter(type: Self.sqlType, bigEndian: Int64(self)) }
}

extension Int64: BindableElement {
    public static var sqlType: UInt32 { 20 }
    public static var arrayType: UInt32 { 1016 }
    public var parameter: Parameter { Parameter(type: Self.sqlType, bigEndian: self) }
}

extension Double: BindableElement {
    public static var sqlType: UInt32 { 701 }
    public static var arrayType: UInt32 { 1022 }
    public var parameter: Parameter { Parameter(type: Self.sqlType, bigEndian: bitPattern) }
}

extension Bool: BindableElement {
    public static var sqlType: UInt32 { 16 }
    public static var arrayType: UInt32 { 1000 }
    public var parameter: Parameter { Parameter(type: Self.sqlType, bigEndian: UInt8(self ? 1 : 0)) }
}

extension Array: Bindable where Element: BindableElement {
    public static var sqlType: UInt32 { Element.arrayType }

    public var parameter: Parameter {
        var array = BoundArray<Element>(count: count)
        for element in self { array.append(element) }
        return array.parameter
    }
}
