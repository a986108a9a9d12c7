import Feed
import Foundation
import QuakeStore
import SampleFeed

/// A request with random parameters, and an independent implementation of each parameter.
struct RandomRequest {
    private(set) var parameters: [(name: String, value: String)] = []
    private var conditions: [(Quake) -> Bool] = []
    private var random: SplitMix64
    /// Thresholds are taken from these events, so that some events are exactly at a threshold.
    private let quakes: [Quake]
    private(set) var token: Int?
    private(set) var deleted = "false"
    private var byMagnitude = false
    private var isAscending = false
    private var limit: Int?
    private var offset = 1

    var query: String {
        parameters.map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }.joined(separator: "&")
    }

    init(_ random: SplitMix64, quakes: [Quake], tokens: [Int]) {
        self.random = random
        self.quakes = quakes
        let parts: [(inout RandomRequest) -> Void] = [
            { $0.addTimes() }, { $0.addMagnitude() }, { $0.addDepth() }, { $0.addBox() }, { $0.addCircle() },
            { $0.addTexts() }, { $0.addNumbers() }, { $0.addUpdated() }, { $0.addOrder() }, { $0.addPage() },
        ]
        for part in parts where self.random.chance(1, in: 4) { part(&self) }
        if self.random.chance(1, in: 2) {
            token = tokens[self.random.below(tokens.count)]
            add("asof", "\(token ?? 0)")
        }
        if self.random.chance(1, in: 3) {
            deleted = ["true", "only"][self.random.below(2)]
            add("includedeleted", deleted)
        }
        add("format", ["csv", "geojson"][self.random.below(2)])
        parameters.shuffle(using: &self.random)
    }

    /// The codes that the answer must have, in order.
    func expected(present: [Quake], deleted gone: [Quake]) -> [String] {
        let all = (deleted == "only" ? [] : present) + (deleted == "false" ? [] : gone)
        let selected = all.filter { quake in conditions.allSatisfy { $0(quake) } }.sorted { one, other in
            if byMagnitude {
                let (left, right) = (one.magnitude, other.magnitude)
                if left != right {
                    guard let left, let right else { return left != nil }
                    return isAscending ? left < right : left > right
                }
            } else if one.time != other.time {
                return isAscending ? one.time < other.time : one.time > other.time
            }
            return one.code < other.code
        }
        return selected.dropFirst(offset - 1).prefix(limit ?? .max).map(\.code)
    }

    private mutating func add(_ name: String, _ value: String) { parameters.append((name, value)) }

    private mutating func quake() -> Quake { quakes[random.below(quakes.count)] }

    private mutating func oneOf(_ names: String...) -> String { names[random.below(names.count)] }

    private mutating func addTimes() {
        var ends = [quake().time, quake().time].sorted()
        // A request's times may have microseconds, although an event's time has only milliseconds.
        let more = random.chance(1, in: 2) ? "500" : ""
        func text(_ time: Instant) -> String { "\(time)".dropLast() + more }
        if random.chance(2, in: 3) {
            add(oneOf("starttime", "start"), text(ends[0]))
            let start = ends[0]
            conditions.append { more.isEmpty ? $0.time >= start : $0.time > start }
        } else {
            ends[1] = quake().time
        }
        add(oneOf("endtime", "end"), text(ends[1]))
        let end = ends[1]
        conditions.append { $0.time <= end }
    }

    private mutating func addRange(
        _ low: String, _ high: String, _ value: @escaping (Quake) -> Double?
    ) {
        let ends = [value(quake()) ?? 0, value(quake()) ?? 0].sorted()
        if random.chance(2, in: 3) {
            add(low, Self.decimal(ends[0]))
            conditions.append { value($0).map { $0 >= ends[0] } ?? false }
        }
        if random.chance(1, in: 3) {
            add(high, Self.decimal(ends[1]))
            conditions.append { value($0).map { $0 <= ends[1] } ?? false }
        }
    }

    private mutating func addMagnitude() {
        addRange(oneOf("minmagnitude", "minmag"), oneOf("maxmagnitude", "maxmag")) { $0.magnitude }
    }

    private mutating func addDepth() { addRange("mindepth", "maxdepth") { $0.depth } }

    private mutating func addNumbers() {
        switch random.below(5) {
        case 0: addRange("mingap", "maxgap") { $0[.gap].number }
        case 1: addRange("minsig", "maxsig") { $0[.sig].integer.map(Double.init) }
        case 2: addRange("minmmi", "maxmmi") { $0[.mmi].number }
        case 3:
            let least = quake()[.felt].integer ?? 1
            add("minfelt", "\(least)")
            conditions.append { $0[.felt].integer.map { $0 >= least } ?? false }
        default: addRange("mincdi", "maxcdi") { $0[.cdi].number }
        }
    }

    private mutating func addBox() {
        addRange(oneOf("minlatitude", "minlat"), oneOf("maxlatitude", "maxlat")) { $0.latitude }
        let (west, east) = (random.unit() * 720 - 360, random.unit() * 720 - 360)
        add(oneOf("minlongitude", "minlon"), Self.decimal(west))
        add(oneOf("maxlongitude", "maxlon"), Self.decimal(east))
        let end = east >= west ? east : east + 360 * ((west - east) / 360).rounded(.up)
        conditions.append { quake in
            (-3...3).contains { (west...end).contains(quake.longitude + 360 * Double($0)) }
        }
    }

    private mutating func addCircle() {
        let (latitude, longitude) = (random.unit() * 180 - 90, random.unit() * 720 - 360)
        add(oneOf("latitude", "lat"), Self.decimal(latitude))
        add(oneOf("longitude", "lon"), Self.decimal(longitude))
        let radii = [random.unit() * 180, random.unit() * 180].sorted()
        let (unit, factor) = random.chance(1, in: 2) ? ("", 1) : ("km", 6371 * Double.pi / 180)
        add("maxradius\(unit)", Self.decimal(radii[1] * factor))
        let least = random.chance(1, in: 2) ? radii[0] : 0
        if least > 0 { add("minradius\(unit)", Self.decimal(least * factor)) }
        conditions.append { quake in
            (least...radii[1]).contains(
                Self.angle(latitude, longitude, quake.latitude, quake.longitude))
        }
    }

    private mutating func addTexts() {
        let one = quake()
        switch random.below(9) {
        case 6: addText("alertlevel", one[.alert].text) { [$0[.alert].text] }
        case 7: addText("productcode", one[.ids].list?.last) { $0[.ids].list ?? [] }
        case 8:
            let status = oneOf("automatic", "reviewed")
            add("reviewstatus", status)
            conditions.append { $0[.status].text == status }
        case 0: addText("magnitudetype", one[.magnitudeType].text) { [$0[.magnitudeType].text] }
        case 1: addText("eventtype", one[.type].text) { [$0[.type].text ?? "earthquake"] }
        case 2: addText("catalog", one[.net].text) { [$0[.net].text] }
        case 3:
            addText("contributor", one[.sources].list?.first) {
                ($0[.sources].list ?? []) + [$0[.net].text]
            }
        case 4: addText("producttype", one[.types].list?.last) { $0[.types].list ?? [] }
        default:
            let codes = [one.code, quake().code, "us0none"]
            add("eventid", codes.joined(separator: ","))
            conditions.append { codes.contains($0.code) }
        }
    }

    private mutating func addText(
        _ name: String, _ text: String?, _ values: @escaping (Quake) -> [String?]
    ) {
        let wanted = [text ?? "none", "other"]
        add(name, wanted.joined(separator: ",").uppercased())
        conditions.append { quake in values(quake).contains { wanted.contains($0?.lowercased() ?? "") } }
    }

    private mutating func addUpdated() {
        let moment = quake().updated
        add("updatedafter", "\(moment)")
        conditions.append { $0.updated > moment }
    }

    private mutating func addOrder() {
        byMagnitude = random.chance(1, in: 2)
        isAscending = random.chance(1, in: 2)
        add("orderby", (byMagnitude ? "magnitude" : "time") + (isAscending ? "-asc" : ""))
    }

    private mutating func addPage() {
        limit = 1 + random.below(50)
        add("limit", "\(limit ?? 0)")
        guard random.chance(1, in: 2) else { return }
        offset = 1 + random.below(20)
        add("offset", "\(offset)")
    }

    /// A number without an exponent; a whole number has no decimal point.
    private static func decimal(_ number: Double) -> String {
        let text = number == number.rounded() ? "\(Int(number))" : "\(number)"
        return text.contains("e") ? "0" : text
    }

    /// The angle between two points as seen from the centre of the earth, in degrees. The store uses the haversine formula.
    private static func angle(
        _ latitude1: Double, _ longitude1: Double, _ latitude2: Double, _ longitude2: Double
    )
        -> Double
    {
        func direction(_ latitude: Double, _ longitude: Double) -> SIMD3<Double> {
            let (phi, lambda) = (latitude * .pi / 180, longitude * .pi / 180)
            return [cos(phi) * cos(lambda), cos(phi) * sin(lambda), sin(phi)]
        }
        let (one, other) = (direction(latitude1, longitude1), direction(latitude2, longitude2))
        let cross = SIMD3(
            one.y * other.z - one.z * other.y, one.z * other.x - one.x * other.z,
            one.x * other.y - one.y * other.x)
        return atan2((cross * cross).sum().squareRoot(), (one * other).sum()) * 180 / .pi
    }
}
