import Feed
import PostgreSQL

/// Writes events in one form, straight from their rows.
protocol EventEncoder: Sendable {
    /// The properties that the rows need, in this order.
    static var properties: [Property] { get }

    /// The head of a document with this many events.
    func head(of count: Int) -> String

    mutating func append(_ row: inout Row, to bytes: inout [UInt8]) throws

    /// Appends the end of the document.
    func finish(_ bytes: inout [UInt8])
}

extension EventEncoder {
    func finish(_ bytes: inout [UInt8]) {}
}
