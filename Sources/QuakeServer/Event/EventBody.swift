import Feed
import PostgreSQL
import QuakeML
import Synchronization

/// The body of an answer: collects its bytes, and hands them on in chunks once it has begun.
final class EventBody: Sendable {
    /// What the rows have to bring, in this order.
    let properties: [Property]
    private let format: EventFormat
    private let write: @Sendable ([UInt8]) throws -> Void
    private let state: Mutex<State>

    private struct State {
        /// What comes before the features, or the whole of another format.
        var bytes: [UInt8] = []
        var features: FeatureEncoder
        var count = 0
        var hasBegun = false
        var isCollection = false

        mutating func take() -> [UInt8] {
            defer {
                bytes = []
                bytes.reserveCapacity(AnswerWriter.pieceSize + (4 << 10))
            }
            bytes += features.take()
            return bytes
        }
    }

    /// - Parameter isDetail: see `FeatureEncoder`.
    init(
        _ format: EventFormat, isDetail: Bool = false, _ write: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        (self.format, self.write) = (format, write)
        state = Mutex(State(features: FeatureEncoder(isDetail: isDetail)))
        properties =
            switch format {
            case .xml: EventXML.properties
            case .text: EventText.properties
            case .csv: EventCSV.properties
            case .geojson: FeatureEncoder.columns
            }
    }

    /// How many events were appended.
    var count: Int { state.withLock { $0.count } }

    func append(_ row: inout BinaryRow) throws {
        // The closure of a lock cannot take the row along.
        var taken = row
        let full = try state.withLock { state -> [UInt8] in
            state.count += 1
            switch format {
            case .xml: try EventXML.append(&taken, to: &state.bytes)
            case .text: try EventText.append(&taken, to: &state.bytes)
            case .csv: try EventCSV.append(&taken, to: &state.bytes)
            case .geojson: try state.features.append(&taken)
            }
            let isFull = state.bytes.count + state.features.bytes.count >= AnswerWriter.pieceSize
            return state.hasBegun && isFull ? state.take() : []
        }
        row = taken
        if !full.isEmpty { try write(full) }
    }

    /// Puts the head in front of what was appended. From now on, bytes are handed on.
    ///
    /// - Parameter head: nil for a feature alone.
    func begin(_ head: String?) {
        state.withLock { state in
            state.bytes.insert(contentsOf: (head ?? "").utf8, at: 0)
            (state.hasBegun, state.isCollection) = (true, head != nil)
        }
    }

    /// Hands on what is left, and the end of the document.
    func finish() throws {
        let rest = state.withLock { state in
            switch format {
            case .xml: state.bytes.append(text: QuakeML.tail)
            case .geojson where state.isCollection:
                state.features.append(text: "]")
                state.features.appendBounds()
                state.features.append(text: "}")
            case .geojson, .text, .csv: break
            }
            return state.take()
        }
        if !rest.isEmpty { try write(rest) }
    }
}
