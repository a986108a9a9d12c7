import Glibc

/// The moment tensor of an earthquake, scaled so that it does not show the earthquake's size. It says how the rock moved in each
/// direction from the source.
public struct MomentTensor: Sendable, Equatable {
    /// The components are north, east and down.
    typealias Direction = SIMD3<Double>

    /// The rows of the symmetric matrix. Its largest element is 1 or -1.
    private let rows: [Direction]

    /// Takes the elements that catalogues publish, in any unit: r is up, t south and p east.
    ///
    /// nil if all elements are 0, or if one of them is not finite.
    public init?(rr: Double, tt: Double, pp: Double, rt: Double, rp: Double, tp: Double) {
        self.init([Direction(tt, -tp, rt), Direction(-tp, pp, -rp), Direction(rt, -rp, rr)])
    }

    /// The double couple of a fault plane with these angles in degrees (Aki and Richards, Quantitative Seismology, 2002, chapter
    /// 4). A real mechanism may also have another part, which planes cannot express.
    ///
    /// nil if one of the angles is not finite.
    public init?(strike: Double, dip: Double, rake: Double) {
        let (strike, dip, rake) = (strike * .pi / 180, dip * .pi / 180, rake * .pi / 180)
        let normal = Direction(-sin(dip) * sin(strike), sin(dip) * cos(strike), -cos(dip))
        let along = Direction(cos(strike), sin(strike), 0)
        let upwards = Direction(cos(dip) * sin(strike), -cos(dip) * cos(strike), -sin(dip))
        let slip = cos(rake) * along + sin(rake) * upwards
        self.init((0..<3).map { normal[$0] * slip + slip[$0] * normal })
    }

    private init?(_ rows: [Direction]) {
        let elements = rows.flatMap { [abs($0.x), abs($0.y), abs($0.z)] }
        guard elements.allSatisfy(\.isFinite), let largest = elements.max(), largest > 0 else { return nil }
        self.rows = rows.map { $0 / largest }
    }

    /// The moment in a direction, given as a unit vector. It is positive where the first motion is away from the source.
    func amplitude(_ direction: Direction) -> Double {
        dot(direction, applied(to: direction))
    }

    private func applied(to direction: Direction) -> Direction {
        Direction(dot(rows[0], direction), dot(rows[1], direction), dot(rows[2], direction))
    }

    struct Axis {
        var direction: Direction
        var moment: Double
    }

    /// The principal axes T, B and P, with the largest moment first, computed by Jacobi's method.
    var axes: [Axis] {
        var axes = [Direction(1, 0, 0), Direction(0, 1, 0), Direction(0, 0, 1)]
        for _ in 0..<10 {
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                let (a, b) = (axes[i], axes[j])
                let shared = 2 * dot(a, applied(to: b))
                let difference = amplitude(b) - amplitude(a)
                let angle = atan2(difference < 0 ? -shared : shared, abs(difference)) / 2
                axes[i] = cos(angle) * a - sin(angle) * b
                axes[j] = sin(angle) * a + cos(angle) * b
            }
        }
        return axes.map { Axis(direction: $0, moment: amplitude($0)) }.sorted { $0.moment > $1.moment }
    }
}

func dot(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double {
    (a * b).sum()
}
