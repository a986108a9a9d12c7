import PostgreSQL
import SampleFeed
import TestSupport

/// Makes random changes to a few events. A transaction has one to five statements, and may change the same event more than once.
struct RandomWriter {
    var random: SplitMix64
    private let codes = 12

    init(_ random: SplitMix64) { self.random = random }

    mutating func write(_ transactions: Int, on connection: Connection) async throws {
        for _ in 0..<transactions {
            let statements = (0...random.below(4)).map { _ in statement() }
            try await connection.execute(
                script: "begin; \(statements.joined(separator: "; ")); commit", to: "change some events")
        }
    }

    mutating func write(_ transactions: Int, to database: TestDatabase) async throws {
        var writer = self
        try await database.withConnection { try await writer.write(transactions, on: $0) }
        self = writer
    }

    private mutating func statement() -> String {
        let code = random.below(codes)
        if random.chance(1, in: 4) { return "delete from quake where code = 'q0\(code)'" }
        let magnitude = random.chance(1, in: 6) ? "null" : "\(Double(random.below(60)) / 10)"
        let type = ["'earthquake'", "'quarry blast'", "null"][random.below(3)]
        let (longitude, latitude) = (random.below(360) - 180, random.below(180) - 90)
        let time = "to_timestamp(\(1_700_000_000 + random.below(100_000)))"
        return """
            insert into quake (code, net, net_code, magnitude, type, place, time, updated, longitude, latitude, depth, types,
                               extra)
            values ('q0\(code)', 'q0', '\(code)', \(magnitude), \(type), E'a "place" \\\\ {[,', \(time), \(time), \(longitude),
                    \(latitude), \(random.below(700)), '{origin,"a,b"}', '{"deep": {"a": [1, "}\\""]}}')
            on conflict (code) do update set magnitude = excluded.magnitude, type = excluded.type, time = excluded.time,
                longitude = excluded.longitude, latitude = excluded.latitude, depth = excluded.depth
            """
    }
}
