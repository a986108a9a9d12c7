/// The invented world of the sample feed. Events cluster along arcs, around towns with different numbers of events.
///
/// Positions and magnitudes are computed only with + − × ÷ and √, whose results IEEE 754 defines exactly. The results of `log`
/// and `cos` differ between versions of libm.
struct SampleCatalogue: Sendable {
    static let shared = SampleCatalogue()

    struct Arc {
        let network: Int
        let longitude, latitude: (Double, Double, Double)  // control points, which may be beyond 180°
        let scatter: Double  // degrees
        let deepest: Int  // hundredths of a km
        let isArea: Bool  // places are named without a distance
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

    /// The names of the towns as the contents of JSON strings. `raw` has only the necessary escapes; `escaped` also has escapes
    /// for slashes and for characters beyond ASCII.
    let raw, escaped: [[UInt8]]
    private let arcs: [[Arc]]  // indexed by network
    private let networks: [Int]  // the network for each random number from 0 to 99
    /// The probabilities that the fractional part of a magnitude is below 1/100, 2/100, … 1.
    private let fractions: [Double]

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

    /// Returns a random difference between a magnitude and the smallest magnitude, in hundredths. A difference that is one unit
    /// of magnitude larger is a tenth as likely (b = 1).
    func exceedance(_ random: inout SplitMix64) -> Int {
        var size = 0
        while random.chance(1, in: 10) { size += 100 }
        let roll = random.unit()
        return size + (fractions.firstIndex { roll < $0 } ?? 99)
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

    /// One of the sixteen compass points. The bounds are the tangents of 11.25°, 33.75°, 56.25° and 78.75°.
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
        var text: SampleText = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                text.appendLiteral("\\")
                text.bytes.append(UInt8(scalar.value))
            case "/" where escapingAll: text.appendLiteral(#"\/"#)
            case _ where escapingAll && !scalar.isASCII:
                for unit in String(scalar).utf16 {
                    text.appendInterpolation(#"\u\#(Int(unit), radix: 16, width: 4)"#)
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
