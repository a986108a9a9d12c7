import Glibc

/// The distance from a mainshock and the time after it that contain its aftershocks (Gardner and Knopoff 1974), as in
/// `report.aftershock_radius_km` and `report.aftershock_days`.
public struct AftershockWindow: Sendable, Equatable {
    public let kilometres: Double
    public let days: Double

    /// - Returns: nil if the magnitude is nil, and the distance or the time is not given either.
    public init?(magnitude: Double?, kilometres: Double? = nil, days: Double? = nil) {
        guard let kilometres = kilometres ?? magnitude.map({ pow(10, 0.1238 * $0 + 0.983) }),
            let days = days
                ?? magnitude.map({ pow(10, $0 >= 6.5 ? 0.032 * $0 + 2.7389 : 0.5409 * $0 - 0.547) })
        else { return nil }
        (self.kilometres, self.days) = (kilometres, days)
    }
}
