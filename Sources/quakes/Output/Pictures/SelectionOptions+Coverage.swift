import Charts
import QuakeStore

extension SelectionOptions {
    /// What the catalogue holds of the selected area. Of a view's file and of the past that is not known.
    func coverage(_ database: DatabaseOptions) async throws -> Coverage {
        guard view == nil, asOf == nil else { return Coverage() }
        let held = try await database.withConnection(for: .reader) { try await HeldPeriod.all(on: $0) }
        return Coverage(held, of: region ?? .world)
    }

    /// The part of the earth that was asked for; nil for all of it.
    var region: Region? {
        if let box { return Region(box) }
        guard let near, let within else { return nil }
        return Region(around: near.latitude, near.longitude, kilometres: within)
    }
}

extension Coverage {
    /// - Parameter region: a period that holds only a part of it does not count.
    init(_ held: [HeldPeriod], of region: Region) {
        self.init(
            held.filter { period in period.box.map { Region($0).contains(region) } ?? true }.map {
                Period(
                    from: $0.times.lowerBound, until: $0.times.upperBound,
                    minimumMagnitude: $0.minimumMagnitude)
            })
    }
}

extension Region {
    init(_ box: QuakeSelection.Box) {
        self.init(south: box.south, west: box.west, north: box.north, width: box.width)
    }
}
