import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Charts

@Suite("Beachballs")
struct BeachballTests {
    @Test("The drawing colours the same points as ObsPy's, for special and random mechanisms", .needsClients)
    func obspy() async throws {
        var random = SplitMix64(seed: 1)
        let drawings = Mechanism.special + (0..<450).map { Mechanism.random($0, using: &random) }
        try await withFolder { folder in
            let file = folder.appending(path: "beachballs.json")
            try JSONEncoder().encode(drawings.map { try #require(Drawing($0)) }).write(to: file)
            try await Clients.run("beachballs.py", [file.path])
        }
    }

    @Test("The disc is full if all first motion is outwards, and empty if all is inwards")
    func volume() throws {
        for (moment, isFilled) in [(3e17, true), (-3e17, false)] {
            let tensor = try #require(MomentTensor(rr: moment, tt: moment, pp: moment, rt: 0, rp: 0, tp: 0))
            let ball = Beachball(tensor, steps: 36)
            #expect(ball.isFilled == isFilled && ball.outlines.isEmpty)
        }
    }

    @Test("The size of a moment does not matter, and zeros, infinity and NaN give no tensor")
    func size() throws {
        let small = try #require(MomentTensor(rr: 1e-300, tt: -1e-300, pp: 0, rt: 0, rp: 0, tp: 5e-301))
        let large = try #require(MomentTensor(rr: 1e300, tt: -1e300, pp: 0, rt: 0, rp: 0, tp: 5e299))
        #expect(zip(small.axes, large.axes).allSatisfy { abs($0.moment - $1.moment) < 1e-12 })
        #expect(MomentTensor(rr: 0, tt: 0, pp: 0, rt: 0, rp: 0, tp: 0) == nil)
        #expect(MomentTensor(rr: .nan, tt: 0, pp: 1, rt: 0, rp: 0, tp: 0) == nil)
        #expect(MomentTensor(strike: .infinity, dip: 0, rake: 0) == nil)
    }

    @Test("On a map, events with a mechanism are beachballs, and smaller balls are drawn over larger ones")
    func map() throws {
        let reverse = try #require(MomentTensor(strike: 10, dip: 45, rake: 90))
        let events = [(6.0, reverse), (5.0, nil), (7.0, reverse), (1.0, reverse)].enumerated().map {
            ChartEvent(
                time: Instant(milliseconds: 0), latitude: 10 * Double($0.offset), depth: 10,
                magnitude: $0.element.0, mechanism: $0.element.1)
        }
        let svg = QuakeMap.svg(events, region: .world, caption: Caption(title: "Mechanisms", lines: []))
        let picture = try #require(Picture(svg))
        let balls = picture.elements.filter {
            $0.name == "circle" && $0.attributes["class"]?.hasPrefix("ball") == true
        }
        let radii = balls.compactMap { $0.number("r") }
        #expect(radii.count == 3 && radii == radii.sorted(by: >) && radii.last == 4)
        // Reverse faulting is coloured in the middle.
        let middles = picture.elements.filter { $0.attributes["class"]?.hasPrefix("ball f") == true }
        #expect(middles.count == 3 && middles.allSatisfy { $0.name == "path" })
        #expect(picture.events.count == 1)
    }
}

/// The input of `Tests/Clients/beachballs.py`, which compares the drawing with ObsPy's.
private struct Drawing: Encodable {
    let mechanism: Mechanism
    let isFilled: Bool
    let outlines: [[[Double]]]

    init?(_ mechanism: Mechanism) {
        guard let tensor = mechanism.tensor else { return nil }
        let ball = Beachball(tensor, steps: 72)
        self.mechanism = mechanism
        (isFilled, outlines) = (ball.isFilled, ball.outlines.map { $0.map { [$0.x, $0.y] } })
    }
}

private struct Mechanism: Encodable {
    var strike1: Double?, dip1: Double?, rake1: Double?
    var mrr: Double?, mtt: Double?, mpp: Double?, mrt: Double?, mrp: Double?, mtp: Double?

    var tensor: MomentTensor? {
        if let strike1, let dip1, let rake1 { return MomentTensor(strike: strike1, dip: dip1, rake: rake1) }
        guard let mrr, let mtt, let mpp, let mrt, let mrp, let mtp else { return nil }
        return MomentTensor(rr: mrr, tt: mtt, pp: mpp, rt: mrt, rp: mrp, tp: mtp)
    }

    /// Planes from horizontal to vertical, with horizontal, oblique, upward and downward slip.
    static let special = [0.0, 33, 180].flatMap { strike in
        [0, 1e-7, 1, 45, 89, 90].flatMap { dip in
            [-180.0, -90, 0, 45, 90, 180].map { Mechanism(strike1: strike, dip1: dip, rake1: $0) }
        }
    }

    /// A plane, a tensor, or a tensor without an isotropic part, in turn.
    static func random(_ turn: Int, using random: inout some RandomNumberGenerator) -> Mechanism {
        func number(_ range: ClosedRange<Double>) -> Double { .random(in: range, using: &random) }
        if turn % 3 == 0 {
            return Mechanism(strike1: number(0...360), dip1: number(0...90), rake1: number(-180...180))
        }
        var diagonal = (0..<3).map { _ in number(-1...1) }
        let part = turn % 3 == 1 ? 0 : diagonal.reduce(0, +) / 3
        diagonal = diagonal.map { $0 - part }
        return Mechanism(
            mrr: diagonal[0], mtt: diagonal[1], mpp: diagonal[2], mrt: number(-1...1), mrp: number(-1...1),
            mtp: number(-1...1))
    }
}
