import Charts
import Feed
import QuakeStore

extension SelectionOptions {
    /// The periods that the catalogue holds; a period may have a minimum magnitude. The result is empty for a view's file and for
    /// a past state, because their periods are unknown.
    func held(in source: QuakeSource) async throws -> [HeldPeriod] {
        guard case .database(let database) = source, asOf == nil else { return [] }
        return try await database.withConnection(for: .reader) { try await HeldPeriod.all(on: $0) }
    }

    /// The periods that the catalogue holds for the selected agencies and an area, by default the selected area. An agency's events
    /// may also come from a service that belongs to no agency, such as another Quakes.
    ///
    /// - Parameter services: the services to consider if no agency is selected; empty for all.
    func coverage(
        _ held: [HeldPeriod], of area: Region? = nil, by services: [String] = []
    ) -> Coverage {
        let hosts = selectedHosts.isEmpty ? services : selectedHosts
        let own = held.filter { period in
            hosts.isEmpty || hosts.contains(period.service) || Agency.atHost(period.service) == nil
        }
        return Coverage(own, of: area ?? region ?? .world)
    }

    /// The gaps of the catalogue in the shown period, in words. If there are several agencies, each of them has a sentence.
    func gaps(_ held: [HeldPeriod], _ portrait: Portrait) -> String? {
        guard !held.isEmpty, let times = portrait.times else { return nil }
        let from = since.map { min($0.instant, times.lowerBound) } ?? times.lowerBound
        let to = until.map { max($0.end, times.upperBound) } ?? times.upperBound
        let hosts = selectedHosts.isEmpty ? portrait.services.sorted() : selectedHosts
        guard !hosts.isEmpty, Set(held.map(\.service)).union(hosts).count > 1 else {
            return coverage(held).gaps(from...to, from: minMagnitude)
        }
        let sentences = hosts.compactMap { host in
            let name = Agency.atHost(host)?.label ?? host
            let own = Coverage(held.filter { $0.service == host }, of: region ?? .world)
            return own.isEmpty
                ? "The catalogue is not complete for \(name) in any period."
                : own.gaps(from...to, from: minMagnitude, of: name)
        }
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    /// The hosts of the selected agencies' services; empty for all.
    private var selectedHosts: [String] { agency.flatMap(\.self).map(\.host) }

    /// The selected part of the earth; nil for all of it.
    var region: Region? {
        if let box { return Region(box) }
        guard let near, let within else { return nil }
        return Region(around: near.latitude, near.longitude, kilometres: within)
    }
}

extension Coverage {
    /// - Parameter region: the region of a picture. A period in which only a part of this region is held does not count.
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
