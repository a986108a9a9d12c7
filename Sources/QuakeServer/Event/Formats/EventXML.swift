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
        guard let code = try row.nextBytes(), let net = try row.nextBytes(), let time = try row.nextInstant(),
            let updated = try row.nextInstant(), let latitude = try row.nextDouble(),
            let longitude = try row.nextDouble()
        else { throw RowError.other }
        var event = QuakeML.Event(
            code: code, net: net, time: time, updated: updated, latitude: latitude, longitude: longitude)
        (event.url, event.place) = (try row.nextBytes(), try row.nextBytes())
        (event.type, event.status) = (try row.nextBytes(), try row.nextBytes())
        event.magnitudeType = try row.nextBytes()
        (event.depth, event.magnitude) = (try row.nextDouble(), try row.nextDouble())
        (event.stations, event.residual) = (try row.nextInteger(), try row.nextDouble())
        (event.gap, event.distance) = (try row.nextDouble(), try row.nextDouble())
        QuakeML.append(event, to: &bytes)
    }

    func finish(_ bytes: inout [UInt8]) { bytes.append(text: QuakeML.tail) }
}
