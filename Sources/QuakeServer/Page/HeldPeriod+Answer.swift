import Feed
import QuakeStore

extension HeldPeriod {
    /// All that the catalogue holds whole, as JSON. Imports that change no earthquake add to it, so it is asked for
    /// again each minute.
    static func answer() -> Answer {
        Answer(
            key: "coverage \(Instant.now.milliseconds / 60_000)",
            contentType: "application/json; charset=utf-8"
        ) { connection, _, writer in
            let periods = try await HeldPeriod.all(on: connection).map(\.json.jsonText)
            try writer.write(Array("{\"held\":[\(periods.joined(separator: ",\n"))]}\n".utf8))
        }
    }

    private var json: JSONObject {
        [
            "service": service, "from": times.lowerBound, "until": times.upperBound,
            "minimum_magnitude": minimumMagnitude, "box": box.map { [$0.south, $0.west, $0.north, $0.east] },
        ]
    }
}
