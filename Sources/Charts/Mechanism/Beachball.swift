import Glibc

/// The lower half of the focal sphere in the equal-area projection: a disc of radius 1 around the origin, with north at the top.
struct Beachball {
    /// If true, the first motion was away from the source everywhere on the disc except inside the outlines; if false, only
    /// inside them.
    let isFilled: Bool
    let outlines: [[SVG.Point]]

    /// A moment that is smaller than this is a rounding error.
    private static let noise = 1e-9

    /// The first motion changes sign on two cones around the principal axis whose moment differs in sign from the other two. Each
    /// cone is cut off at the rim of the lower half.
    ///
    /// - Parameter steps: the number of straight lines that approximate the outline of a cone.
    init(_ tensor: MomentTensor, steps: Int) {
        let axes = tensor.axes
        guard axes[2].moment < -Self.noise, axes[0].moment > Self.noise else {
            (isFilled, outlines) = (axes[0].moment > Self.noise, [])
            return
        }
        isFilled = axes[1].moment > Self.noise
        let (lone, first, second) = isFilled ? (axes[2], axes[0], axes[1]) : (axes[0], axes[1], axes[2])
        let cone = (0..<steps).map { step in
            let angle = 2 * .pi * Double(step) / Double(steps)
            let (c, s) = (cos(angle), sin(angle))
            let away = atan2(
                abs(lone.moment).squareRoot(),
                (abs(first.moment) * c * c + abs(second.moment) * s * s).squareRoot())
            return cos(away) * lone.direction + sin(away) * (c * first.direction + s * second.direction)
        }
        outlines = [1.0, -1].compactMap { sign in
            let part = Self.cutOff(cone.map { sign * $0 }, around: sign * lone.direction)
            return part.isEmpty ? nil : part.map(Self.projected)
        }
    }

    private static func projected(_ direction: MomentTensor.Direction) -> SVG.Point {
        let scale = 1 / (1 + direction.z).squareRoot()
        return .init(x: direction.y * scale, y: -direction.x * scale)
    }

    /// The downward part of a cone, closed along the rim. There is only one such part, because the cone is convex. Directions on
    /// the rim, such as those of a horizontal plane, count as downward.
    private static func cutOff(
        _ cone: [MomentTensor.Direction], around axis: MomentTensor.Direction
    ) -> [MomentTensor.Direction] {
        func at(_ index: Int) -> MomentTensor.Direction { cone[index % cone.count] }
        func isBelow(_ index: Int) -> Bool { at(index).z > -noise }
        guard let start = cone.indices.first(where: { !isBelow($0) && isBelow($0 + 1) }) else {
            return isBelow(0) ? cone : []
        }
        var end = start + 1
        let entry = rim(between: at(start), at(end))
        var part = [entry]
        while isBelow(end) {
            part.append(at(end))
            end += 1
        }
        let exit = rim(between: at(end - 1), at(end))
        return part + [exit] + along(from: exit, to: entry, around: axis)
    }

    /// The point where the line between two directions crosses the rim.
    private static func rim(between a: MomentTensor.Direction, _ b: MomentTensor.Direction)
        -> MomentTensor.Direction
    {
        let share = min(1, max(0, a.z / (a.z - b.z)))
        let point = (1 - share) * a + share * b
        let length = hypot(point.x, point.y)
        return .init(point.x / length, point.y / length, 0)
    }

    /// Points on the rim between `a` and `b`, along the shorter arc. If the shorter arc spans more than 90°, the points follow
    /// the arc on the side of `axis` instead.
    private static func along(
        from a: MomentTensor.Direction, to b: MomentTensor.Direction, around axis: MomentTensor.Direction
    ) -> [MomentTensor.Direction] {
        let start = atan2(a.y, a.x)
        var turn = remainder(atan2(b.y, b.x) - start, 2 * .pi)
        let middle = start + turn / 2
        if abs(turn) > .pi / 2, cos(middle) * axis.x + sin(middle) * axis.y < 0 {
            turn -= turn < 0 ? -2 * .pi : 2 * .pi
        }
        // At the size of a symbol, an arc of 10° looks straight.
        let count = Int((abs(turn) * 18 / .pi).rounded(.up))
        return (1..<max(1, count)).map { index in
            let angle = start + turn * Double(index) / Double(count)
            return .init(cos(angle), sin(angle), 0)
        }
    }
}

extension SVG {
    /// - Parameter color: the index of the class of depth.
    mutating func beachball(_ tensor: MomentTensor, at centre: Point, radius: Double, color: Int) {
        let ball = Beachball(tensor, steps: radius < 8 ? 36 : 72)
        let (disc, others) = ball.isFilled ? ("ball f\(color)", "ball") : ("ball", "ball f\(color)")
        circle(at: centre, radius: radius, class: disc)
        let paths = ball.outlines.map { outline in
            Self.path(
                outline.map { .init(x: centre.x + radius * $0.x, y: centre.y + radius * $0.y) },
                isClosed: true)
        }
        if !paths.isEmpty { element("path", ["class": others, "d": paths.joined()]) }
    }
}
