import Foundation

/// The expected macroseismic intensity (MMI) at a distance from an earthquake.
///
/// The relation is by Allen, Wald & Worden (2012), J. Seismology 16, 409–433, for active shallow crust, with the hypocentral
/// distance. It is valid for magnitudes from 5 to 7.9 and distances up to 300 km. Outside these limits, it is extrapolated. Its
/// standard deviation is about 1, so messages contain the whole number `degree` and the `word`, but no decimals.
public struct ShakingIntensity: Sendable, Equatable {
    /// From 1 to 10, not rounded.
    public let value: Double

    /// - Parameters:
    ///   - distance: from the epicentre, in km.
    ///   - depth: in km; 10 if it is unknown.
    public init(magnitude: Double, distance: Double, depth: Double?) {
        let depth = max(0, depth ?? 10)
        value = min(10, max(1, Self.intensity(magnitude, (distance * distance + depth * depth).squareRoot())))
    }

    /// Distances below 6 km from the hypocentre count as 6 km.
    static func intensity(_ magnitude: Double, _ hypocentral: Double) -> Double {
        let distance = max(6, hypocentral)
        let saturation = -0.209 + 2.042 * exp(magnitude - 5)
        let near =
            2.085 + 1.428 * magnitude
            - 1.402 * log((distance * distance + saturation * saturation).squareRoot())
        return distance > 50 ? near + 0.078 * log(distance / 50) : near
    }

    /// The intensity as a whole number, for messages.
    public var degree: Int { Int(value.rounded()) }

    /// The USGS ShakeMap's word for the shaking, such as `light`; nil if the shaking is probably not felt.
    public var word: String? {
        switch degree {
        case ..<2: nil
        case 2, 3: "weak"
        case 4: "light"
        case 5: "moderate"
        case 6: "strong"
        case 7: "very strong"
        case 8: "severe"
        case 9: "violent"
        default: "extreme"
        }
    }
}
