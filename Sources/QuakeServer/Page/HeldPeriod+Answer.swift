import Feed
import QuakeStore

extension HeldPeriod {
    /// The periods for which the catalogue is complete, as JSON. An import that changes no earthquake can add a period without
    /// creating a new state, so the answer's key changes each minute.
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
