/// A synthetic feed in the GeoJSON summary format, for trying and measuring without a network.
///
/// It can never be mistaken for a real one: its networks are `q0` to `q9`, which no agency has, its places are
/// invented, and its addresses lie on example.org, so a document of it never settles (it names no summary feed).
/// It has what real feeds have and made-up ones forget: nulls, negative magnitudes and depths, several `ids`,
/// raw codes that repeat across networks, quarry blasts, place names in many scripts, escaped and raw.
///
/// The same `count`, `seed` and `revised` give the same bytes on every machine: no clock, no libm, no hash seed.
/// Event *i* depends on the seed and *i* alone, so a shorter feed holds the newest events of a longer one.
/// Events lie about four minutes apart and end at 2026-01-01T00:00:00Z; a million go back to 2018.
/// Ids are unique within a document; documents of different seeds are different events that may share a few.
public struct SampleFeed: Sendable {
    let count: Int
    let seed: UInt64
    let revised: Double

    /// - Parameters:
    ///   - count: how many features; below 0 counts as 0.
    ///   - seed: which catalogue.
    ///   - revised: the fraction, 0...1, of the events that differ from the same feed with `revised: 0`: a newer
    ///     `updated`, a magnitude, depth and `nst` that differ a little, status `reviewed`. The other features
    ///     stay the same to the byte; `metadata.generated` is an hour later, and `bbox` follows. The chosen events are spread
    ///     evenly, and a larger fraction contains the events of a smaller one, revised in the same way.
    public init(count: Int, seed: UInt64 = 1, revised: Double = 0) {
        self.count = max(0, count)
        self.seed = seed
        self.revised = min(max(revised, 0), 1)
    }

    /// Calls `write` with the successive pieces of the document, each at most 64 KiB and valid only during the call.
    /// Pieces end where a feature ends. Memory does not grow with the count.
    public func write(to write: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        var text = SampleText()
        let catalogue = SampleCatalogue.shared
        var bounds = SampleBounds()
        text.append(#"{"type":"FeatureCollection","metadata":{"generated":"#)
        text.append(revised > 0 ? SampleEvent.revisionsGenerated : SampleEvent.generated)
        text.append(
            #","url":"https://example.org/quakes/sample.geojson","title":"Synthetic earthquakes, not real""#)
        text.append(#","status":200,"api":"1.14.1","count":"#)
        text.append(count)
        text.append(#"},"features":["#)
        for index in 0..<count {
            text.append(index == 0 ? "\n" : ",\n")
            var event = SampleEvent(index: index, seed: seed, catalogue: catalogue)
            if isRevised(index) { event.revise(seed: seed) }
            bounds.include(event)
            event.append(to: &text, catalogue: catalogue)
            if text.bytes.count > SampleText.pieceSize - SampleText.longestFeature {
                try text.bytes.withUnsafeBytes(write)
                text.bytes.removeAll(keepingCapacity: true)
            }
        }
        text.append("]")
        if count > 0 { bounds.append(to: &text) }
        text.append("}\n")
        try text.bytes.withUnsafeBytes(write)
    }

    /// A golden-ratio sequence: evenly spread over the document, and a larger fraction only adds events.
    private func isRevised(_ index: Int) -> Bool {
        if revised >= 1 { return true }
        let position = UInt64(index) &* 0x9E37_79B9_7F4A_7C15 &+ seed &* 0xD1B5_4A32_D192_ED03
        return Double(position >> 11) * 0x1p-53 < revised
    }
}

// MARK: - One event

/// What is drawn for one event. Integers throughout, in the smallest unit that the feed prints.
private struct SampleEvent {
    struct Place {
        let town: Int
        let distance: Int  // km; 0 when the name alone says it
        let direction: StaticString
    }

    static let end = 1_767_225_600_000  // 2026-01-01T00:00:00Z
    static let interval = 240_000
    static let generated = end + 600_000
    static let revisionsGenerated = generated + 3_600_000

    enum Kind: Int { case earthquake, quarryBlast, explosion, iceQuake }

    let index: Int
    let network: Int
    let place: Place
    let longitude, latitude: Int  // 1e-4 degrees
    let time: Int  // ms
    let kind: Kind
    let magnitudeType: StaticString?
    let alternates: Int  // 0...2 further networks that located the event too
    let felt, cdi, mmi: Int?  // reports; tenths; thousandths
    let alert: StaticString?
    let tsunami: Bool
    let dmin, gap: Int?  // 1e-4 degrees; hundredths of a degree
    let rms: Int?  // hundredths of a second
    let draw: UInt64  // what is left to decide when it is written, a bit field

    // What a revision changes.
    var magnitude: Int?  // hundredths
    var depth: Int?  // hundredths of a km
    var nst: Int?
    var updated: Int
    var reviewed: Bool

    init(index: Int, seed: UInt64, catalogue: SampleCatalogue) {
        var random = SplitMix64(seed: seed, stream: UInt64(index))
        self.index = index
        let network = catalogue.network(random.below(100))
        self.network = network
        let worldwide = network == 0
        time = Self.end - index * Self.interval - random.below(Self.interval)

        // Gutenberg–Richter with b = 1 above the completeness of the network, fading away below it.
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
        // Minutes at first, weeks when an analyst has looked at it; never later than the document.
        let lag = (90_000 + random.below(90_000)) << random.below(reviewed ? 16 : 5)
        let soonest = time + 60_000
        updated = time + lag < Self.generated ? time + lag : soonest + random.below(Self.generated - soonest)
        draw = random.next()
    }

    /// Draws from a stream of its own, so that nothing else of the event changes.
    mutating func revise(seed: UInt64) {
        var random = SplitMix64(seed: ~seed, stream: UInt64(index))
        updated = Self.generated + 1 + random.below(Self.revisionsGenerated - Self.generated - 1)
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

// MARK: - Writing it

extension SampleEvent {
    func append(to text: inout SampleText, catalogue: SampleCatalogue) {
        text.append(#"{"type":"Feature","properties":{"mag":"#)
        text.append(magnitude, decimals: 2)
        text.append(#","place":""#)
        appendPlace(to: &text, catalogue)
        text.append(#"","time":"#)
        text.append(time)
        text.append(#","updated":"#)
        text.append(updated)
        text.append(#","tz":null,"url":"https://example.org/earthquakes/synthetic/not-real/eventpage/"#)
        appendIdentifier(to: &text)
        text.append(#"","detail":"https://example.org/earthquakes/synthetic/not-real/feed/v1.0/detail/"#)
        appendIdentifier(to: &text)
        text.append(#".geojson","felt":"#)
        text.append(felt, decimals: 0)
        text.append(#","cdi":"#)
        text.append(cdi, decimals: 1)
        text.append(#","mmi":"#)
        text.append(mmi, decimals: 3)
        text.append(#","alert":"#)
        text.append(quoted: alert)
        text.append(#","status":"#)
        text.append(reviewed ? #""reviewed","tsunami":"# : #""automatic","tsunami":"#)
        text.append(tsunami ? #"1,"sig":"# : #"0,"sig":"#)
        text.append(significance)
        text.append(#","net":"q"#)
        text.append(network)
        text.append(#"","code":""#)
        appendCode(of: network, to: &text)
        text.append(#"","ids":",q"#)
        appendAlternates(to: &text)
        text.append(#","types":","#)
        appendTypes(to: &text)
        text.append(#"","nst":"#)
        text.append(nst, decimals: 0)
        text.append(#","dmin":"#)
        text.append(dmin, decimals: 4)
        text.append(#","rms":"#)
        text.append(rms, decimals: 2)
        text.append(#","gap":"#)
        text.append(gap, decimals: 2)
        text.append(#","magType":"#)
        text.append(quoted: magnitudeType)
        text.append(#","type":"#)
        switch kind {
        case .earthquake: text.append(#""earthquake","title":"M "#)
        case .quarryBlast: text.append(#""quarry blast","title":"M "#)
        case .explosion: text.append(#""explosion","title":"M "#)
        case .iceQuake: text.append(#""ice quake","title":"M "#)
        }
        appendTitle(to: &text, catalogue)
        text.append(#""},"geometry":{"type":"Point","coordinates":["#)
        text.append(longitude, decimals: 4)
        text.append(",")
        text.append(latitude, decimals: 4)
        text.append(",")
        text.append(depth, decimals: 2)
        text.append(#"]},"id":""#)
        appendIdentifier(to: &text)
        text.append(#""}"#)
    }

    /// As ANSS computes it, roughly: magnitude, alert, and how much was felt.
    /// https://earthquake.usgs.gov/data/comcat/index.php#sig
    private var significance: Int {
        let size = magnitude ?? 0
        return (size * size + 325) / 650 + min(felt ?? 0, 1_000) * (cdi ?? 0) / 100
    }

    private func appendPlace(to text: inout SampleText, _ catalogue: SampleCatalogue) {
        if place.distance > 0 {
            text.append(place.distance)
            text.append(index & 7 == 0 ? "km " : " km ")
            text.append(place.direction)
            text.append(" of ")
        }
        // One in sixteen is escaped as far as JSON allows.
        text.append(draw & 15 == 0 ? catalogue.escaped[place.town] : catalogue.raw[place.town])
    }

    /// The magnitude to one decimal, as real titles have it, and "?" when there is none.
    private func appendTitle(to text: inout SampleText, _ catalogue: SampleCatalogue) {
        if let magnitude {
            let tenths = (magnitude + 2_005) / 10 - 200
            if tenths < 0 { text.append("-") }
            text.append(abs(tenths) / 10)
            text.append(".")
            text.append(abs(tenths) % 10)
        } else {
            text.append("?")
        }
        switch kind {
        case .earthquake: text.append(" - ")
        case .quarryBlast: text.append(" Quarry Blast - ")
        case .explosion: text.append(" Explosion - ")
        case .iceQuake: text.append(" Ice Quake - ")
        }
        appendPlace(to: &text, catalogue)
    }

    private func appendIdentifier(to text: inout SampleText, of network: Int? = nil) {
        text.append("q")
        text.append(network ?? self.network)
        appendCode(of: network ?? self.network, to: &text)
    }

    /// A code in the shape that such a network uses. Unique within the network for every index; across networks
    /// the same one comes up for different events, as it does in real feeds.
    private func appendCode(of network: Int, to text: inout SampleText) {
        let number = index + network
        switch network {
        case 0:  // 7000p3kz
            text.append(7_000 + number >> 20)
            text.append(number & 0xF_FFFF, radix: 32, width: 4)
        case 3, 5:  // 025cxvn1b: scattered over 36⁶, a bijection as far as any count goes
            text.append("025")
            text.append(number % 2_176_782_336 * 1_010_101_013 % 2_176_782_336, radix: 36, width: 6)
            if number >= 2_176_782_336 { text.append(number / 2_176_782_336, radix: 36, width: 4) }
        case 1:  // 00912345
            text.append(900_000 + number, radix: 10, width: 8)
        case 6, 9:  // 2025aabc
            text.append(SampleDay(milliseconds: time).year)
            text.append(letters: number)
        case 8:  // 2025364018: the day of the year and a number within it; a day has at most 361 indices
            let day = SampleDay(milliseconds: time)
            text.append(day.year)
            text.append(day.ofYear, radix: 10, width: 3)
            text.append(number % 1_000, radix: 10, width: 3)
        default:  // 74000123
            text.append(74_000_000 + number)
        }
    }

    /// `ids` and `sources`; the networks that located the event too stand before or after the preferred one.
    private func appendAlternates(to text: inout SampleText) {
        let first = (network + 1 + Int(draw >> 8 & 3)) % 10
        let second = (network + 5 + Int(draw >> 10 & 3)) % 10
        var networks = (network, first, second)
        if alternates > 0, draw >> 12 & 1 == 1 { networks = (first, network, second) }
        func each(_ body: (Int) -> Void) {
            body(networks.0)
            if alternates > 0 { body(networks.1) }
            if alternates > 1 { body(networks.2) }
        }
        text.bytes.removeLast()  // the "q" of the literal; appendIdentifier writes it
        each {
            appendIdentifier(to: &text, of: $0)
            text.append(",")
        }
        text.append(#"","sources":","#)
        each {
            text.append("q")
            text.append($0)
            text.append(",")
        }
        text.append("\"")
    }

    /// In alphabetical order, as the service lists them.
    private func appendTypes(to text: inout SampleText) {
        let size = magnitude ?? 0
        let mechanism = size >= 250 && draw >> 16 & 3 == 0
        let scitech = [1, 2, 4].contains(network)
        if felt != nil { text.append("dyfi,") }
        if size >= 700 { text.append("finite-fault,") }
        if mechanism || network == 2 && draw >> 18 & 3 == 0 { text.append("focal-mechanism,") }
        if draw >> 20 & 63 == 0 { text.append("general-link,") }
        if alert != nil { text.append("ground-failure,") }
        if size >= 650 { text.append("impact-text,") }
        if alert != nil { text.append("losspager,") }
        if size >= 400 && draw >> 26 & 1 == 0 || size >= 500 { text.append("moment-tensor,") }
        if scitech { text.append("nearby-cities,") }
        text.append("origin,")
        if nst != nil || draw >> 27 & 1 == 0 { text.append("phase-data,") }
        if scitech { text.append("scitech-link,") }
        if mmi != nil { text.append("shakemap,") }
    }
}

/// What the document's `bbox` says in the end.
private struct SampleBounds {
    private var longitude = (Int.max, Int.min)
    private var latitude = (Int.max, Int.min)
    private var depth = (Int.max, Int.min)

    mutating func include(_ event: SampleEvent) {
        longitude = (min(longitude.0, event.longitude), max(longitude.1, event.longitude))
        latitude = (min(latitude.0, event.latitude), max(latitude.1, event.latitude))
        if let value = event.depth { depth = (min(depth.0, value), max(depth.1, value)) }
    }

    func append(to text: inout SampleText) {
        let depth = self.depth.0 > self.depth.1 ? (0, 0) : self.depth
        text.append(#","bbox":["#)
        text.append(longitude.0, decimals: 4)
        text.append(",")
        text.append(latitude.0, decimals: 4)
        text.append(",")
        text.append(depth.0, decimals: 2)
        text.append(",")
        text.append(longitude.1, decimals: 4)
        text.append(",")
        text.append(latitude.1, decimals: 4)
        text.append(",")
        text.append(depth.1, decimals: 2)
        text.append("]")
    }
}

// MARK: - Where, how large, and by whom

/// The invented world: arcs along which the events cluster, around towns with uneven shares.
///
/// Positions and magnitudes use only + − × ÷ and √, which IEEE 754 defines to the last bit; `log` and `cos` differ
/// from one libm to the next.
private struct SampleCatalogue: Sendable {
    static let shared = SampleCatalogue()

    struct Arc {
        let network: Int
        let longitude, latitude: (Double, Double, Double)  // control points; may pass 180
        let scatter: Double  // degrees
        let deepest: Int  // hundredths of a km
        let isArea: Bool  // the names say it alone, without a distance
        let names: [String]
        var firstTown = 0

        init(
            _ network: Int, _ longitude: (Double, Double, Double), _ latitude: (Double, Double, Double),
            scatter: Double, deepest: Int, isArea: Bool = false, in region: String, _ names: String
        ) {
            self.network = network
            self.longitude = longitude
            self.latitude = latitude
            self.scatter = scatter
            self.deepest = deepest
            self.isArea = isArea
            self.names = names.split(separator: "; ").map { region.isEmpty ? String($0) : "\($0), \(region)" }
        }

        func point(_ t: Double) -> (longitude: Double, latitude: Double) {
            let a = (1 - t) * (1 - t)
            let b = 2 * t * (1 - t)
            let c = t * t
            return (
                a * longitude.0 + b * longitude.1 + c * longitude.2,
                a * latitude.0 + b * latitude.1 + c * latitude.2
            )
        }
    }

    /// The names of the towns as the inside of a JSON string: as they are, and with every escape JSON knows.
    let raw, escaped: [[UInt8]]
    private let arcs: [[Arc]]  // by network
    private let networks: [Int]  // by percent
    private let fractions: [Double]  // how likely a magnitude's fraction is below 1/100, 2/100, … 1

    private init() {
        var arcs: [[Arc]] = Array(repeating: [], count: 10)
        var raw: [[UInt8]] = []
        var escaped: [[UInt8]] = []
        for var arc in Self.world {
            arc.firstTown = raw.count
            arcs[arc.network].append(arc)
            raw += arc.names.map { Self.json($0, escapingAll: false) }
            escaped += arc.names.map { Self.json($0, escapingAll: true) }
        }
        self.arcs = arcs
        self.raw = raw
        self.escaped = escaped
        networks = zip(0..., [4, 27, 21, 16, 12, 8, 5, 4, 2, 1]).flatMap { Array(repeating: $0, count: $1) }
        var remaining = 1.0
        fractions = (1...100).map { _ in
            remaining *= 0.977_237_220_955_810_7  // 10^-0.01
            return (1 - remaining) / 0.9
        }
    }

    func network(_ percent: Int) -> Int { networks[percent] }

    /// By how much a magnitude exceeds the smallest, in hundredths: exponential, a tenth as many per unit (b = 1).
    func exceedance(_ random: inout SplitMix64) -> Int {
        var size = 0
        while random.chance(1, in: 10) { size += 100 }
        let roll = random.unit()
        var low = 0
        var high = 99
        while low < high {
            let middle = (low + high) / 2
            if roll < fractions[middle] { high = middle } else { low = middle + 1 }
        }
        return size + low
    }

    func spot(
        network: Int, _ random: inout SplitMix64
    ) -> (place: SampleEvent.Place, longitude: Int, latitude: Int, deepest: Int) {
        let arc = arcs[network][random.below(arcs[network].count)]
        let count = arc.names.count
        let town = min(random.below(count), random.below(count))
        let share = 1 / Double(count)
        let middle = (Double(town) + 0.5) * share
        let home = arc.point(middle)
        let on = arc.point(middle + 0.2 * share * (random.unit() + random.unit() - 1))
        let longitude = on.longitude + arc.scatter * (random.unit() + random.unit() - 1)
        let latitude = on.latitude + arc.scatter * (random.unit() + random.unit() - 1)

        let radians = latitude * 0.017_453_292_519_943_3
        let square = radians * radians
        let cosine = 1 - square / 2 + square * square / 24
        let east = (longitude - home.longitude) * 111.2 * cosine
        let north = (latitude - home.latitude) * 111.2
        let place = SampleEvent.Place(
            town: arc.firstTown + town,
            distance: arc.isArea ? 0 : Int((east * east + north * north).squareRoot().rounded()),
            direction: Self.direction(east: east, north: north)
        )
        let wrapped = longitude > 180 ? longitude - 360 : longitude
        return (place, Int((wrapped * 10_000).rounded()), Int((latitude * 10_000).rounded()), arc.deepest)
    }

    /// One of sixteen winds; the bounds are the tangents of 11.25°, 33.75°, 56.25° and 78.75°.
    private static func direction(east: Double, north: Double) -> StaticString {
        let (x, y) = (abs(east), abs(north))
        switch (north >= 0, east >= 0) {
        case _ where x <= 0.1989 * y: return north >= 0 ? "N" : "S"
        case _ where x >= 5.0273 * y: return east >= 0 ? "E" : "W"
        case (true, true): return x < 0.6682 * y ? "NNE" : x < 1.4966 * y ? "NE" : "ENE"
        case (true, false): return x < 0.6682 * y ? "NNW" : x < 1.4966 * y ? "NW" : "WNW"
        case (false, true): return x < 0.6682 * y ? "SSE" : x < 1.4966 * y ? "SE" : "ESE"
        case (false, false): return x < 0.6682 * y ? "SSW" : x < 1.4966 * y ? "SW" : "WSW"
        }
    }

    private static func json(_ name: String, escapingAll: Bool) -> [UInt8] {
        var text = SampleText()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                text.append("\\")
                text.bytes.append(UInt8(scalar.value))
            case "/" where escapingAll: text.append(#"\/"#)
            case _ where escapingAll && !scalar.isASCII:
                for unit in String(scalar).utf16 {
                    text.append(#"\u"#)
                    text.append(Int(unit), radix: 16, width: 4)
                }
            default: text.bytes += Array(String(scalar).utf8)
            }
        }
        return text.bytes
    }

    private static let world: [Arc] = [
        Arc(
            0, (155, 178, 187), (-8, -18, -38), scatter: 1.4, deepest: 66_000, in: "Tōgen Islands",
            """
            Lomaluva; 新月港; Haruna; Vaitongo; Nuku‘ava; みさき浜; Mōrangi; Port Ember 🌋
            """),
        Arc(
            0, (-81, -69, -73), (6, -18, -42), scatter: 1.2, deepest: 25_000, in: "Ámbar",
            """
            San Brío; Puerto Ñandé; Villa Peñón; Quebrada Añil; Río Ocre; Las Cañadas; Tres Hermanos
            """),
        Arc(
            0, (32, 62, 94), (39, 34, 31), scatter: 1.1, deepest: 22_000, in: "",
            """
            Новокаменск, Тарга; Qal‘ah-ye Zarrīn, Baland; Şehirova, Karadere; Łąkowice, Tarhan; \
            Верхний Яр, Тарга; 銀沙, 河原省; Old Bazaar, Baland
            """),
        Arc(
            0, (-22, -48, -12), (58, 8, -52), scatter: 0.9, deepest: 3_500, isArea: true, in: "",
            """
            northern Mid-Ōmori Ridge; central Mid-Ōmori Ridge; Saint-Élan Fracture Zone; \
            southern Mid-Ōmori Ridge; south of the Brume Islands/Îles de la Brume
            """),
        Arc(
            1, (-119.2, -116.8, -115.9), (40.9, 38.4, 36.6), scatter: 0.16, deepest: 1_800, in: "Aldra",
            """
            Saltmere; Quill Valley; Ten Springs; Silver Fork; Cañon Seco; "Old" Mercury; \
            Rabbit Ear; Two Wells; Salt\\Pepper Flat; Juniper Station
            """),
        Arc(
            2, (-118.9, -117.2, -115.4), (35.9, 33.8, 32.5), scatter: 0.12, deepest: 2_200, in: "Calidora",
            """
            Vellona; Los Álamos Viejos; Cape Merrow; Mission Dorada; Pearl Lake; Río Perdido; \
            Brawder; Twin Bays/Bahías Gemelas; Santa Ynara
            """),
        Arc(
            3, (-167.5, -152, -147), (53.8, 57, 63.9), scatter: 0.5, deepest: 19_000, in: "Borea",
            """
            Ugalik; Point Sorrow; Kanaqvik; Old Cannery; Glacier Fork; Susikna; Nikolaevka; \
            Denning; Atkaluk
            """),
        Arc(
            4, (-124.2, -122.4, -121.1), (40.4, 38.9, 36.4), scatter: 0.1, deepest: 1_500, in: "Calidora",
            """
            The Fumaroles; Hopper Glen; Anders Bay; Tres Piñones; San Tadeo; Fort Larch; Mill Ridge
            """),
        Arc(
            5, (-178.4, -168, -155), (51.6, 52.9, 58.2), scatter: 0.08, deepest: 1_200, isArea: true,
            in: "Borea",
            """
            Mount Cinder; Great Kettle Volcano; Smoking Cone; Katlaq Caldera; Little Ember 🌋
            """),
        Arc(
            6, (-98.9, -97.6, -96.4), (36.9, 35.7, 34.9), scatter: 0.14, deepest: 900, in: "Okana",
            """
            Prairie Dun; Red Plow; Guthry; Cotton Gin; Windrow; Peavine
            """),
        Arc(
            7, (-112.9, -111.6, -111.0), (41.8, 39.6, 37.2), scatter: 0.15, deepest: 1_600, in: "Utara",
            """
            Tin Cup; Great Brine; Coalmouth; Arches Gate; Elk Ferry
            """),
        Arc(
            8, (-67.6, -66.5, -64.6), (17.9, 18.4, 19.2), scatter: 0.22, deepest: 12_000, in: "Isla Brisa",
            """
            Puerto Cangrejo; Playa Añeja; Guánara; Maricá; Peñuelo; Coquí Arriba
            """),
        Arc(
            9, (-104.4, -102.2, -99.1), (31.9, 31.5, 29.2), scatter: 0.2, deepest: 1_000, in: "Tejara",
            """
            Pecan Wells; Dry Toyah; Mentora; Coyanosa Draw; Big Spool
            """),
    ]
}

// MARK: - Bytes, days and chance

/// The bytes of the document, with the few ways to append to them that it needs; no String in between.
private struct SampleText {
    static let pieceSize = 65_536
    static let longestFeature = 2_048

    var bytes: [UInt8] = []

    mutating func append(_ literal: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    mutating func append(_ name: [UInt8]) { bytes.append(contentsOf: name) }

    mutating func append(quoted word: StaticString?) {
        guard let word else { return append("null") }
        append("\"")
        append(word)
        append("\"")
    }

    mutating func append(_ number: Int) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        append(Int(number.magnitude), radix: 10, width: 1)
    }

    /// `value` / 10^`decimals`, without trailing zeros; null for nil.
    mutating func append(_ value: Int?, decimals: Int) {
        guard let value else { return append("null") }
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        let scale = [1, 10, 100, 1_000, 10_000][decimals]
        let (whole, rest) = Int(value.magnitude).quotientAndRemainder(dividingBy: scale)
        append(whole, radix: 10, width: 1)
        guard rest > 0 else { return }
        bytes.append(UInt8(ascii: "."))
        append(rest, radix: 10, width: decimals)
        while bytes.last == UInt8(ascii: "0") { bytes.removeLast() }
    }

    /// Not negative; at least `width` digits, 0–9 and then a–z.
    mutating func append(_ number: Int, radix: Int, width: Int) {
        appendReversed(number, radix: radix, width: width) { $0 < 10 ? 48 + $0 : 87 + $0 }
    }

    /// Base 26 in letters, at least four of them.
    mutating func append(letters number: Int) {
        appendReversed(number, radix: 26, width: 4) { 97 + $0 }
    }

    @inline(__always)
    private mutating func appendReversed(_ number: Int, radix: Int, width: Int, _ digit: (UInt8) -> UInt8) {
        var rest = UInt(number)
        var left = width
        var low = bytes.count
        while rest > 0 || left > 0 {
            let (quotient, value) = rest.quotientAndRemainder(dividingBy: UInt(radix))
            bytes.append(digit(UInt8(truncatingIfNeeded: value)))
            rest = quotient
            left -= 1
        }
        var high = bytes.count - 1
        while low < high {
            bytes.swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}

/// The UTC year and day of the year (1…366), in the proleptic Gregorian calendar.
private struct SampleDay {
    let year: Int
    let ofYear: Int

    init(milliseconds: Int) {
        let day = milliseconds.floorDivided(by: 86_400_000)
        var year = 1970 + day.floorDivided(by: day < 0 ? 365 : 366)
        while Self.start(of: year + 1) <= day { year += 1 }
        self.year = year
        ofYear = day - Self.start(of: year) + 1
    }

    /// Days from 1970-01-01 to the first of January.
    private static func start(of year: Int) -> Int {
        let y = year - 1
        return y * 365 + y.floorDivided(by: 4) - y.floorDivided(by: 100) + y.floorDivided(by: 400) - 719_162
    }
}

extension Int {
    fileprivate func floorDivided(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a stream of its own for every event.
private struct SplitMix64 {
    private var state: UInt64

    init(seed: UInt64, stream: UInt64) {
        state = seed
        state = next() ^ stream &* 0xD6E8_FEB8_6659_FD93
        state = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    mutating func below(_ bound: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(bound)).high) }

    mutating func chance(_ part: Int, in whole: Int) -> Bool { below(whole) < part }

    /// 0 ..< 1
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
