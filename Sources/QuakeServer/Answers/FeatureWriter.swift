import PostgreSQL
import Synchronization

/// Writes the features of a collection, and its end, to an answer.
public final class FeatureWriter: Sendable {
    private let writer: AnswerWriter
    private let encoder: Mutex<FeatureEncoder>

    /// - Parameter isDetail: see `FeatureEncoder`.
    public init(_ writer: AnswerWriter, isDetail: Bool = false) {
        self.writer = writer
        encoder = Mutex(FeatureEncoder(isDetail: isDetail))
    }

    public func append(_ row: inout Row) throws {
        // The closure of a lock cannot take the row along.
        var taken = row
        let ready = try encoder.withLock { encoder -> [UInt8] in
            try encoder.append(&taken)
            return encoder.bytes.count >= AnswerWriter.pieceSize ? encoder.take() : []
        }
        row = taken
        try writer.write(ready)
    }

    /// Ends the list of features, writes `bbox` and ends the document.
    public func finish() throws {
        let (rest, count) = encoder.withLock { encoder in
            encoder.append(text: "]")
            encoder.appendBounds()
            encoder.append(text: "}\n")
            return (encoder.take(), encoder.count)
        }
        try writer.write(rest)
        writer.countRows(count)
    }

    /// Ends a document that is one feature.
    ///
    /// - Returns: false if there was none; nothing is written then.
    func finishFeature() throws -> Bool {
        let (rest, count) = encoder.withLock { ($0.take(), $0.count) }
        try writer.write(rest)
        writer.countRows(count)
        return count > 0
    }
}
