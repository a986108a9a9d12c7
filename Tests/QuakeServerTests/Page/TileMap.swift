import Testing

@testable import QuakeServer

/// The contents of the tiles of one kind, decoded as the page decodes them.
struct TileMap {
    static let kinds = ["coast", "borders", "faults"]
    static let square = [(0, 0), (0, 10_000), (10_000, 10_000), (10_000, 0), (0, 0)]
        .map { Point(latitude: $0.0, longitude: $0.1) }

    /// A point in a tile, in thousandths of a degree from the tile's south-western corner.
    struct Point: Equatable {
        var latitude: Int
        var longitude: Int
    }

    struct Corner: Hashable {
        var west: Int
        var south: Int
    }

    enum Side { case north, south, west, east }

    /// The characters of the chart, one for each tile. The rows are in order from north to south.
    let chart: [[Character]]
    private(set) var tiles: [Corner: [[Point]]] = [:]
    /// The tiles that are all land.
    private(set) var whole: Set<Corner> = []

    init(_ kind: String) throws {
        let index = String(decoding: try #require(MapTiles.all["tiles_\(kind).txt"]), as: UTF8.self)
        let rows = index.split(separator: "\n\n").last?.split(separator: "\n") ?? []
        chart = rows.map(Array.init)
        for (row, line) in chart.enumerated() {
            for (column, character) in line.enumerated() where character != "." {
                let corner = Corner(west: column * 10 - 180, south: 80 - row * 10)
                if character == "#" {
                    whole.insert(corner)
                } else {
                    let name = "tiles_\(kind)_\(corner.west)_\(corner.south).txt"
                    let text = try #require(MapTiles.all[name], "\(name)")
                    tiles[corner] = text.split(separator: UInt8(ascii: "\n")).map(Self.decode)
                }
            }
        }
    }

    /// Whether a place is inside the rings.
    func hasLand(latitude: Double, longitude: Double) -> Bool {
        let corner = Corner(
            west: Int((longitude / 10).rounded(.down)) * 10, south: Int((latitude / 10).rounded(.down)) * 10)
        if whole.contains(corner) { return true }
        let (y, x) = ((latitude - Double(corner.south)) * 1000, (longitude - Double(corner.west)) * 1000)
        var winding = 0
        for ring in tiles[corner] ?? [] {
            for (a, b) in zip(ring, ring.dropFirst())
            where (Double(a.latitude) > y) != (Double(b.latitude) > y) {
                let share = (y - Double(a.latitude)) / Double(b.latitude - a.latitude)
                if Double(a.longitude) + share * Double(b.longitude - a.longitude) > x {
                    winding += b.latitude > a.latitude ? 1 : -1
                }
            }
        }
        return winding > 0
    }

    /// The ranges of a tile's side at which the tile has land, in thousandths of a degree along the side.
    func land(at side: Side, of corner: Corner) -> [Range<Int>] {
        if whole.contains(corner) { return [0..<10_000] }
        // For each place on the side, the number of ranges that begin there minus the number that end there. Ranges can cancel
        // each other, because a ring may run along the side and back.
        var changes: [Int: Int] = [:]
        for ring in tiles[corner] ?? [] {
            for (a, b) in zip(ring, ring.dropFirst()) where a.isOn(side) && b.isOn(side) {
                let isAlong = side == .north || side == .south
                let (start, end) = isAlong ? (a.longitude, b.longitude) : (a.latitude, b.latitude)
                let sign = side == .south || side == .east ? 1 : -1
                changes[start, default: 0] += sign
                changes[end, default: 0] -= sign
            }
        }
        var stretches: [Range<Int>] = []
        var (depth, start) = (0, 0)
        for (place, change) in changes.sorted(by: { $0.key < $1.key }) where change != 0 {
            if depth == 0 { start = place }
            depth += change
            if depth == 0 { stretches.append(start..<place) }
        }
        return stretches
    }

    private static func decode(_ line: ArraySlice<UInt8>) -> [Point] {
        var numbers: [Int] = []
        var (number, shift) = (0, 0)
        for byte in line {
            let chunk = Int(byte) - 63
            number |= (chunk & 0x1F) << shift
            shift += 5
            guard chunk < 0x20 else { continue }
            numbers.append(number & 1 == 1 ? ~(number >> 1) : number >> 1)
            (number, shift) = (0, 0)
        }
        var point = Point(latitude: 0, longitude: 0)
        return stride(from: 0, to: numbers.count - 1, by: 2).map { index in
            point.latitude += numbers[index]
            point.longitude += numbers[index + 1]
            return point
        }
    }
}

extension TileMap.Point {
    fileprivate func isOn(_ side: TileMap.Side) -> Bool {
        switch side {
        case .north: latitude == 10_000
        case .south: latitude == 0
        case .west: longitude == 0
        case .east: longitude == 10_000
        }
    }
}
