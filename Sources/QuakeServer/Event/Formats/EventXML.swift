import Feed
import PostgreSQL
import QuakeML

struct EventXML: EventEncoder {
    static let properties: [Property] = [
        .code, .net, .time, .updated, .latitude, .longitude, .url, .place, .type, .status, .magnitudeType,
        .depth, .magnitude, .nst, .rms, .gap, .dmin,
    ]

    func head(of count: Int) -> String { QuakeML.head }

    func append(_ row: inout Row, to bytes: inout [UInt8]) throws {
        QuakeML.append(try QuakeML.Event(&row), to: &bytes)
    }

    func finish(_ bytes: inout [UInt8]) { bytes.append(text: QuakeML.tail) }
}

/// Merged earthquakes as QuakeML, from the rows of `SelectedQuakes.forEachSolution`.
struct EarthquakeXML: EventEncoder {
    static let properties = EventXML.properties

    private var earthquakes: QuakeML.EarthquakeWriter

    init(_ solutions: QuakeML.Solutions) { earthquakes = QuakeML.EarthquakeWriter(solutions) }

    func head(of count: Int) -> String { QuakeML.head }

    mutating func append(_ row: inout Row, to bytes: inout [UInt8]) throws {
        guard let isPreferred = try row.nextBool(), let givesMagnitude = try row.nextBool() else {
            throw RowError.other
        }
        earthquakes.append(
            try QuakeML.Event(&row), isPreferred: isPreferred, givesMagnitude: givesMagnitude, to: &bytes)
    }

    func finish(_ bytes: inout [UInt8]) {
        earthquakes.finish(&bytes)
        bytes.append(text: QuakeML.tail)
    }
}

extension QuakeML.Event {
    /// Reads the properties of `EventXML` in their order.
    fileprivate init(_ row: inout Row) throws {
        guard let code = try row.nextBytes(), let net = try row.nextBytes(), let time = try row.nextInstant(),
            let updated = try row.nextInstant(), let latitude = try row.nextDouble(),
            let longitude = try row.nextDouble()
        else { throw RowError.other }
        self.init(
            code: code, net: net, time: time, updated: updated, latitude: latitude, longitude: longitude)
        (url, place) = (try row.nextBytes(), try row.nextBytes())
        (type, status) = (try row.nextBytes(), try row.nextBytes())
        magnitudeType = try row.nextBytes()
        (depth, magnitude) = (try row.nextDouble(), try row.nextDouble())
        (stations, residual) = (try row.nextInteger(), try row.nextDouble())
        (gap, distance) = (try row.nextDouble(), try row.nextDouble())
    }
}
