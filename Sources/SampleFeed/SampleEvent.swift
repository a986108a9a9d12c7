/// The random values of one event. All numbers are integers, in the smallest unit that the feed prints.
struct SampleEvent {
    struct Place {
        let town: Int
        let distance: Int  // km; 0 if the place is named without a distance
        let direction: StaticString
    }

    static let end = 1_767_225_600_000  // 2026-01-01T00:00:00Z
    static let interval = 240_000

    enum Kind: Int { case earthquake, quarryBlast, explosion, iceQuake }

    /// The event's number, counted back in time from 2026-01-01. Events after that date have negative numbers.
    let index: Int
    let network: Int
    let place: Place
    let longitude, latitude: Int  // 1e-4 degrees
    let time: Int  // ms
    let kind: Kind
    let magnitudeType: StaticString?
    let alternates: Int  // 0...2 other networks that also located the event
    let felt, cdi, mmi: Int?  // reports; tenths; thousandths
    let alert: StaticString?
    let tsunami: Bool
    let dmin, gap: Int?  // 1e-4 degrees; hundredths of a degree
    let rms: Int?  // hundredths of a second
    let draw: UInt64  // random bits for decisions when the event is written

    var magnitude: Int?  // hundredths
    var depth: Int?  // hundredths of a km
    var nst: Int?
    var updated: Int
    var reviewed: Bool

    /// - Parameter generated: the time at which the document without revisions was made, in ms.
    init(index: Int, seed: UInt64, generated: Int, catalogue: SampleCatalogue) {
        var random = SplitMix64(seed: seed, stream: UInt64(bitPattern: Int64(index)))
        self.index = index
        let network = catalogue.network(random.below(100))
        self.network = network
        let worldwide = network == 0
        time = Self.end - index * Self.interval - random.below(Self.interval)

        // Gutenberg–Richter with b = 1 above the network's completeness. Below the completeness, smaller events are rarer.
        var size = 0
        if worldwide {
            size = 420 + catalogue.exceedance(&random)
            if size > 950 { size = 950 }
        } else if random.chance(44, in: 100) {
            size = 120 + catalogue.exceedance(&random)
            if size > 730 { size = 730 }
        } else {
            size = 120 - min(random.below(240), random.below(240), random.below(240), random.below(240))
        }
        if worldwide || network == 3 { size = (size + 1005) / 10 * 10 - 1000 }
        magnitude = random.chance(1, in: 400) ? nil : size

        kind =
            worldwide || size > 320 || !random.chance(1, in: 50)
            ? .earthquake : Kind(rawValue: 1 + random.below(3))!

        let spot = catalogue.spot(network: network, &random)
        place = spot.place
        longitude = spot.longitude
        latitude = spot.latitude
        depth = kind == .earthquake ? Self.depth(spot.deepest, worldwide, &random) : -random.below(80)
        if random.chance(1, in: 1500) { depth = nil }

        magnitudeType = magnitude == nil ? nil : Self.magnitudeType(size, network, &random)

        let feltChance = size < 150 ? 0 : min(92, (size - 150) / 4)
        if kind == .earthquake, random.chance(feltChance, in: 100) {
            let expected = 1 << min(14, max(0, (size - 200) / 33))
            let felt = random.below(2 * expected + 2)
            self.felt = felt
            cdi = felt == 0 ? random.below(2) * 10 : min(91, 10 + random.below(14) + max(0, size - 200) / 8)
        } else {
            felt = nil
            cdi = nil
        }
        let shaken = kind == .earthquake && random.chance(min(95, max(0, (size - 280) / 3)), in: 100)
        mmi = shaken ? min(9_900, 1_000 + random.below(1_500) + max(0, size - 200) * 12) : nil
        alert = shaken && size >= 480 ? Self.alert(size, random.below(1000)) : nil
        tsunami = size >= 600 && kind == .earthquake && random.chance(7, in: 10)

        let located = !(network == 3 || network == 9) || random.chance(1, in: 10)
        nst = located ? max(3, 6 + random.below(22) + max(0, size) / 8) : nil
        dmin = located ? (worldwide ? 2_000 + random.below(90_000) : 40 + random.below(4_000)) : nil
        gap = located || random.chance(1, in: 4) ? Self.gap(network, &random) : nil
        rms = random.chance(1, in: 250) ? nil : (worldwide ? 30 + random.below(110) : 1 + random.below(45))

        alternates = random.chance(worldwide ? 30 : 6, in: 100) ? 1 + random.below(8) / 7 : 0
        reviewed = random.chance(worldwide ? 92 : 58, in: 100)
        // The time from the event to its last update: minutes for automatic events, up to ten weeks for reviewed ones. The last
        // update is always before the document.
        let lag = (90_000 + random.below(90_000)) << random.below(reviewed ? 16 : 5)
        let soonest = time + 60_000
        // The values after `updated` must not depend on the feed's end. So `random` always advances as it does with the standard
        // end, and a value that depends on the end is drawn from the copy `late`.
        var late = random
        if time + lag >= Self.end + 600_000 { _ = random.next() }
        updated = time + lag < generated ? time + lag : soonest + late.below(generated - soonest)
        draw = random.next()
    }

    /// Turns the event into a later version. The new values come from a separate random stream, so no other value changes.
    ///
    /// - Parameter times: the range from the time of the document without revisions to the time of the document with revisions,
    ///   in ms.
    mutating func revise(seed: UInt64, between times: Range<Int>) {
        var random = SplitMix64(seed: ~seed, stream: UInt64(bitPattern: Int64(index)))
        updated = times.lowerBound + 1 + random.below(times.count - 1)
        reviewed = true
        if let magnitude {
            self.magnitude = magnitude + 10 * (1 + random.below(2)) * (random.chance(1, in: 2) ? 1 : -1)
        }
        if let depth { self.depth = depth + 1 + random.below(120) }
        if let nst { self.nst = nst + 1 + random.below(12) }
    }

    private static func depth(_ deepest: Int, _ worldwide: Bool, _ random: inout SplitMix64) -> Int {
        if worldwide, random.chance(1, in: 3) { return 1_000 }  // fixed by the analyst
        if random.chance(1, in: 40) { return -random.below(320) }  // above sea level
        if deepest > 10_000, random.chance(1, in: 2) {
            return 3_000 + min(random.below(deepest), random.below(deepest))
        }
        return 20 + min(random.below(2_400), random.below(2_400))
    }

    private static func magnitudeType(
        _ size: Int, _ network: Int, _ random: inout SplitMix64
    ) -> StaticString {
        let roll = random.below(100)
        if network == 0 {
            if size >= 550 { return roll < 92 ? "mww" : roll < 97 ? "mwc" : "mwb" }
            return roll < 82 ? "mb" : roll < 95 ? "mww" : roll < 99 ? "mwr" : "mb_lg"
        }
        if size >= 480 { return roll < 80 ? "mww" : "mw" }
        if size >= 350 { return roll < 40 ? "mwr" : roll < 60 ? "mw" : "ml" }
        let durationShare = [0, 2, 10, 0, 85, 30, 1, 5, 90, 0][network]
        return roll < durationShare
            ? "md" : roll < 99 || size > 20 && size < 250 ? "ml" : size <= 20 ? "mlr" : "mh"
    }

    private static func alert(_ size: Int, _ roll: Int) -> StaticString {
        let severity = roll + max(0, size - 550) * 3
        return severity < 940 ? "green" : severity < 1_250 ? "yellow" : severity < 1_420 ? "orange" : "red"
    }

    private static func gap(_ network: Int, _ random: inout SplitMix64) -> Int {
        let gap = 1_500 + random.below(17_000) + (random.chance(1, in: 5) ? random.below(16_000) : 0)
        return network == 1 || network == 6 ? gap : gap / 100 * 100
    }
}
