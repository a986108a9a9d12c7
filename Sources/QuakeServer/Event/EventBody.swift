import Feed
import PostgreSQL
import QuakeML
import Synchronization

/// The body of an answer: collects its bytes, and hands them on in chunks once it has begun.
final class EventBody: Sendable {
    /// What the rows have to bring, in this order.
    let properties: [Property]
    private let write: @Sendable ([UInt8]) throws -> Void
    private let state: Mutex<State>

    /// How the events are written.
    enum Form: Sendable {
        case xml, text, csv
        /// - Parameter isDetail: see `FeatureEncoder`.
        case geojson(isDetail: Bool)
        case kml(EventKML)
        case atom(EventAtom)

        fileprivate var properties: [Property] {
            switch self {
            case .xml: EventXML.properties
            case .text: EventText.properties
            case .csv: EventCSV.properties
            case .geojson: FeatureEncoder.columns
            case .kml, .atom: EventSummary.properties
            }
        }
    }

    private struct State {
        var form: Form
        /// What comes before the features, or the whole of another format.
        var bytes: [UInt8] = []
        var features: FeatureEncoder
        var count = 0
        var hasBegun = false
        var isCollection = false

        mutating func append(_ row: inout Row) throws {
            count += 1
            switch form {
            case .xml: try EventXML.append(&row, to: &bytes)
            case .text: try EventText.append(&row, to: &bytes)
            case .csv: try EventCSV.append(&row, to: &bytes)
            case .geojson: try features.append(&row)
            case .kml(var kml):
                try kml.append(&row, to: &bytes)
                form = .kml(kml)
            case .atom(let atom): try atom.append(&row, to: &bytes)
            }
        }

        mutating func finish() {
            switch form {
            case .xml: bytes.append(text: QuakeML.tail)
            case .geojson where isCollection:
                features.append(text: "]")
                features.appendBounds()
                features.append(text: "}")
            case .kml(let kml): kml.finish(&bytes)
            case .atom: bytes.append(text: EventAtom.tail)
            case .geojson, .text, .csv: break
            }
        }

        mutating func take() -> [UInt8] {
            defer { bytes = [] }
            bytes += features.take()
            return bytes
        }
    }

    init(_ form: Form, _ write: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.write = write
        let isDetail = if case .geojson(let isDetail) = form { isDetail } else { false }
        state = Mutex(State(form: form, features: FeatureEncoder(isDetail: isDetail)))
        properties = form.properties
    }

    /// How many events were appended.
    var count: Int { state.withLock { $0.count } }

    func append(_ row: inout Row) throws {
        // The closure of a lock cannot take the row along.
        var taken = row
        let full = try state.withLock { state -> [UInt8] in
            try state.append(&taken)
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
            state.finish()
            return state.take()
        }
        if !rest.isEmpty { try write(rest) }
    }
}
