import Feed
import PostgreSQL

/// A row of `quake`, wherever it is kept. A column that is not there is an error, one that is null is nil.
public protocol QuakeRow {
    func text(_ column: String) throws -> String?
    func number(_ column: String) throws -> Double?
    func integer(_ column: String) throws -> Int32?
    func flag(_ column: String) throws -> Bool?
    func time(_ column: String) throws -> Instant?
    func list(_ column: String) throws -> [String]?
}

/// A row of the server's, with the columns of `QuakeSelection.columns`.
struct ServerRow: QuakeRow {
    let row: Row

    func text(_ column: String) throws -> String? { try row.decodeIfPresent(column) }
    func number(_ column: String) throws -> Double? { try row.decodeIfPresent(column) }
    func integer(_ column: String) throws -> Int32? { try row.decodeIfPresent(column) }
    func flag(_ column: String) throws -> Bool? { try row.decodeIfPresent(column) }
    func time(_ column: String) throws -> Instant? {
        try row.decodeIfPresent(column, as: Int64.self).map { Instant(milliseconds: $0) }
    }
    func list(_ column: String) throws -> [String]? {
        try row.decodeIfPresent(column, as: TextArray.self)?.elements
    }
}

extension Quake {
    public init(_ row: some QuakeRow) throws {
        func present<Value>(_ column: QuakeColumn, _ value: Value?) throws -> Value {
            guard let value else { throw RowError(column: column.rawValue, problem: "is null") }
            return value
        }
        self.init(
            code: try present(.code, row.text("code")), net: try present(.net, row.text("net")),
            netCode: try present(.netCode, row.text("net_code")),
            time: try present(.time, row.time("time")), updated: try present(.updated, row.time("updated")),
            longitude: try present(.longitude, row.number("longitude")),
            latitude: try present(.latitude, row.number("latitude")))
        for column in QuakeColumn.allCases { try read(column, from: row) }
    }

    private mutating func read(_ column: QuakeColumn, from row: some QuakeRow) throws {
        let name = column.rawValue
        switch column {
        case .code, .net, .netCode, .time, .updated, .longitude, .latitude: break
        case .magnitude: magnitude = try row.number(name)
        case .magnitudeType: magnitudeType = try row.text(name)
        case .place: place = try row.text(name)
        case .title: title = try row.text(name)
        case .url: url = try row.text(name)
        case .detail: detail = try row.text(name)
        case .status: status = try row.text(name)
        case .alert: alert = try row.text(name)
        case .type: type = try row.text(name)
        case .tz: tz = try row.integer(name)
        case .felt: felt = try row.integer(name)
        case .sig: sig = try row.integer(name)
        case .nst: nst = try row.integer(name)
        case .cdi: cdi = try row.number(name)
        case .mmi: mmi = try row.number(name)
        case .dmin: dmin = try row.number(name)
        case .rms: rms = try row.number(name)
        case .gap: gap = try row.number(name)
        case .tsunami: tsunami = try row.flag(name)
        case .ids: ids = try row.list(name)
        case .sources: sources = try row.list(name)
        case .types: types = try row.list(name)
        case .depth: depth = try row.number(name)
        case .extra: extra = try row.text(name)
        }
    }
}
