import Testing

@testable import Alerts

@Suite("Alerts: shaking") struct IntensityTests {
    /// The expected values were computed from the numbers of Allen, Wald & Worden (2012), independently of this code.
    @Test(arguments: [
        (4, 10, 4.567), (4, 50, 2.312), (4, 51, 2.286), (4, 100, 1.395), (5, 10, 5.974), (5, 20, 5.019),
        (5, 50, 3.739), (5, 51, 3.713), (5, 100, 2.822), (5, 300, 1.368), (6, 10, 7.249), (6, 50, 5.160),
        (6, 100, 4.249), (7, 10, 8.034), (7, 100, 5.663), (7, 300, 4.222), (7.9, 10, 8.258),
        (7.9, 100, 6.874),
    ])
    func intensitiesAreThoseOfThePaper(magnitude: Double, distance: Double, expected: Double) {
        #expect(abs(ShakingIntensity.intensity(magnitude, distance) - expected) < 0.0006)
    }

    @Test func anIntensityGrowsWithTheMagnitudeAndFallsWithTheDistance() {
        for magnitude in stride(from: 3.0, through: 9, by: 0.25) {
            var before = 11.0
            for distance in stride(from: 0.0, through: 2000, by: 7) {
                let value = ShakingIntensity(magnitude: magnitude, distance: distance, depth: 10).value
                #expect(value <= before)
                #expect(
                    value
                        <= ShakingIntensity(magnitude: magnitude + 0.25, distance: distance, depth: 10).value)
                before = value
            }
        }
    }

    /// Near the hypocentre, the formula would tend to infinity even for the smallest magnitudes.
    @Test(arguments: [-2.0, 0, 2, 12]) func everyIntensityIsOnTheScale(magnitude: Double) {
        for depth in [nil, -3, 0, 700.0] {
            #expect(
                (1...10).contains(ShakingIntensity(magnitude: magnitude, distance: 0, depth: depth).value))
        }
    }

    @Test func anIntensityIsDescribedByAWord() {
        let words = [
            (4.0, 100.0, nil), (5, 50, "light"), (6, 50, "moderate"), (7, 10, "severe"), (4, 30, "weak"),
        ]
        for (magnitude, distance, word) in words {
            #expect(ShakingIntensity(magnitude: magnitude, distance: distance, depth: 0).word == word)
        }
    }
}

@Suite("Alerts: points") struct PointTests {
    @Test func distancesAreThoseOfASphere() {
        let tokyo = Point(latitude: 35.69, longitude: 139.75)
        #expect(abs(tokyo.distance(to: Point(latitude: 34.69, longitude: 135.5)) - 400.9) < 3)
        #expect(tokyo.distance(to: tokyo) == 0)
        // The points lie on both sides of the date line.
        #expect(
            abs(
                Point(latitude: 0, longitude: 179.9).distance(to: Point(latitude: 0, longitude: -179.9))
                    - 22.24) < 0.01)
        #expect(Point(latitude: 10, longitude: 350).distance(to: Point(latitude: 10, longitude: -10)) < 1e-6)
        let antipodes = Point(latitude: -35.69, longitude: -40.25)
        #expect(abs(tokyo.distance(to: antipodes) - 20_015) < 1)
    }

    @Test func directionsAreThoseOfACompass() {
        let centre = Point(latitude: 10, longitude: 179)
        #expect(centre.direction(to: Point(latitude: 11, longitude: 179)) == "N")
        #expect(centre.direction(to: Point(latitude: 10, longitude: -179)) == "E")
        #expect(centre.direction(to: Point(latitude: 9, longitude: 178)) == "SW")
        #expect(centre.direction(to: Point(latitude: 11, longitude: 178)) == "NW")
        #expect(centre.direction(to: centre) == "N")
    }
}
