import Feed
import PostgreSQL

/// Writes events in one format, directly from their rows.
protocol EventEncoder: Sendable {
    static var properties: [Property] { get }
    /// Whether each row has the columns of `EarthquakeGroup` after the columns of the properties.
    var needsGroup: Bool { get }

    func head(of count: Int) -> String

    mutating func append(_ row: inout Row, to bytes: inout [UInt8]) throws

    func finish(_ bytes: inout [UInt8])
}

extension EventEncoder {
    var needsGroup: Bool { false }

    func finish(_ bytes: inout [UInt8]) {}
}
