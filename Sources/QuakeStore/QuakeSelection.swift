import Feed
import PostgreSQL

/// Which earthquakes to read: the newest first, all that are asked for.
public struct QuakeSelection: Sendable {
    /// Origin time, from this moment on.
    public var since: Instant?
    public var minimumMagnitude: Double?
    public var near: Circle?
    /// nil is all.
    public var limit: Int?
    /// The table as it was then, rather than as it is.
    public var asOf: PastMoment?

    public init() {}

    /// A circle on the earth's surface, taken as a sphere of 6371 km radius.
    public struct Circle: Sendable, Equatable {
        /// Degrees.
        public var latitude: Double
        public var longitude: Double
        public var kilometres: Double

        public init(latitude: Double, longitude: Double, kilometres: Double) {
            self.latitude = latitude
            self.longitude = longitude
            self.kilometres = kilometres
        }
    }

    /// Hands over each earthquake as it arrives: constant memory, whatever their number.
    ///
    /// - Throws: `PastError` when history does not reach back to `asOf`; `PostgresError`; what `body` throws.
    public func forEach(on connection: Connection, _ body: @Sendable (Quake) throws -> Void) async throws {
        var (table, operation): (Query, String) = ("public.quake", "list earthquakes")
        if let asOf {
            table = Self.table(after: try await asOf.token(on: connection))
            operation = "list past earthquakes"
        }
        try await connection.forEachRow(of: query(from: table), to: operation) { try body(Quake($0)) }
    }

    private func query(from table: Query) -> Query {
        """
        select \(unescaped: Self.columns)
        from \(table) as quake
        where (\(since?.milliseconds) is null or time >= to_timestamp(\(since?.milliseconds) / 1000.0))
          and (\(minimumMagnitude) is null or magnitude >= \(minimumMagnitude))
          and (\(near?.kilometres) is null
               or (abs(latitude - \(near?.latitude)) <= \(near?.kilometres) / 111.0
                   and \(near?.kilometres) >= 2 * 6371 * asin(least(1, sqrt(
                         power(sind((latitude - \(near?.latitude)) / 2), 2)
                         + cosd(latitude) * cosd(\(near?.latitude))
                           * power(sind((longitude - \(near?.longitude)) / 2), 2))))))
        order by time desc, code
        limit \(limit)
        """
    }

    /// The columns as `Quake.init(_: Row)` reads them; times in milliseconds since 1970.
    static let columns = QuakeColumn.allCases.map { column in
        switch column {
        case .time, .updated:
            "(extract(epoch from \(column.rawValue)) * 1000)::bigint as \(column.rawValue)"
        default: column.rawValue
        }
    }.joined(separator: ", ")
}

extension Quake {
    /// Reads a row of `QuakeSelection.columns`.
    init(_ row: Row) throws {
        self.init(
            code: try row.decode("code"), net: try row.decode("net"), netCode: try row.decode("net_code"),
            time: Instant(milliseconds: try row.decode("time")),
            updated: Instant(milliseconds: try row.decode("updated")),
            longitude: try row.decode("longitude"), latitude: try row.decode("latitude"))
        for column in QuakeColumn.allCases { try read(column, from: row) }
    }

    private mutating func read(_ column: QuakeColumn, from row: Row) throws {
        let name = column.rawValue
        switch column {
        case .code, .net, .netCode, .time, .updated, .longitude, .latitude: break
        case .magnitude: magnitude = try row.decodeIfPresent(name)
        case .magnitudeType: magnitudeType = try row.decodeIfPresent(name)
        case .place: place = try row.decodeIfPresent(name)
        case .title: title = try row.decodeIfPresent(name)
        case .url: url = try row.decodeIfPresent(name)
        case .detail: detail = try row.decodeIfPresent(name)
        case .status: status = try row.decodeIfPresent(name)
        case .alert: alert = try row.decodeIfPresent(name)
        case .type: type = try row.decodeIfPresent(name)
        case .tz: tz = try row.decodeIfPresent(name)
        case .felt: felt = try row.decodeIfPresent(name)
        case .sig: sig = try row.decodeIfPresent(name)
        case .nst: nst = try row.decodeIfPresent(name)
        case .cdi: cdi = try row.decodeIfPresent(name)
        case .mmi: mmi = try row.decodeIfPresent(name)
        case .dmin: dmin = try row.decodeIfPresent(name)
        case .rms: rms = try row.decodeIfPresent(name)
        case .gap: gap = try row.decodeIfPresent(name)
        case .tsunami: tsunami = try row.decodeIfPresent(name)
        case .ids: ids = try row.decodeIfPresent(name, as: TextArray.self)?.elements
        case .sources: sources = try row.decodeIfPresent(name, as: TextArray.self)?.elements
        case .types: types = try row.decodeIfPresent(name, as: TextArray.self)?.elements
        case .depth: depth = try row.decodeIfPresent(name)
        case .extra: extra = try row.decodeIfPresent(name)
        }
    }
}
