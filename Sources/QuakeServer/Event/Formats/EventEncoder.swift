import Feed
import PostgreSQL

/// Writes events in one form, straight from their rows.
protocol EventEncoder: Sendable {
    /// What the rows have to bring, in this order.
    static var properties: [Property] { get }

    /// What stands in front of so many events.
    func head(of count: Int) -> String

    mutating func append(_ row: inout Row, to bytes: inout [UInt8]) throws

    /// Appends what stands behind the events.
    func finish(_ bytes: inout [UInt8])
}

extension EventEncoder {
    func finish(_ bytes: inout [UInt8]) {}
}
