/// One earthquake, or another seismic event that the feeds carry: a value for each `Property`.
public struct Quake: Sendable, Equatable {
    public enum Value: Sendable, Equatable {
        case null
        case text(String)
        case number(Double)
        case integer(Int32)
        case flag(Bool)
        case time(Instant)
        case list([String])
        case json(String)
    }

    private var values: [Value]

    /// - Parameter value: returns the value of each property: a value of the property's kind, or null.
    /// - Throws: `MissingValue` when the event lacks a required property; any error of `value`.
    public init(_ value: (Property) throws -> Value) throws {
        values = try Property.allCases.map { property in
            let value = try value(property)
            guard value != .null || !property.isRequired else { throw MissingValue(property: property) }
            return value
        }
    }

    public subscript(property: Property) -> Value {
        get { values[property.rawValue] }
        set { values[property.rawValue] = newValue }
    }
}

// The properties that the program itself reads by name.
extension Quake {
    /// The greatest length of an imported code, in bytes of UTF-8.
    public static let codeLimit = 64

    public var code: String { self[.code].text ?? "" }
    public var time: Instant { self[.time].time ?? Instant(milliseconds: 0) }
    public var updated: Instant { self[.updated].time ?? Instant(milliseconds: 0) }
    /// Degrees.
    public var longitude: Double { self[.longitude].number ?? 0 }
    /// Degrees.
    public var latitude: Double { self[.latitude].number ?? 0 }
    /// Kilometres.
    public var depth: Double? { self[.depth].number }
    public var magnitude: Double? { self[.magnitude].number }
}

extension Quake.Value {
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    public var number: Double? { if case .number(let number) = self { number } else { nil } }
    public var integer: Int32? { if case .integer(let integer) = self { integer } else { nil } }
    public var time: Instant? { if case .time(let time) = self { time } else { nil } }
    public var list: [String]? { if case .list(let list) = self { list } else { nil } }
    public var json: String? { if case .json(let json) = self { json } else { nil } }
}

/// A row lacks a required property.
public struct MissingValue: Error, Equatable, CustomStringConvertible {
    public let property: Property

    public var description: String { "column \"\(property.column)\" is null" }
}
