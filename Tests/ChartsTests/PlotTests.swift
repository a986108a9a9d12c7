import Feed
import Foundation
import TestSupport
import Testing

@testable import Charts

@Suite("Plots")
struct PlotTests {
    private let caption = Caption(title: "Plot", lines: [])

    @Test("Magnitudes over time lie where the axes say")
    func time() throws {
        let events = (0...10).map { hour in
            ChartEvent(
                time: Instant(milliseconds: Int64(hour) * 3_600_000), depth: 10,
                magnitude: 4 + Double(hour) / 4)
        }
        let picture = try #require(Picture(Plot.time(events, caption: caption)))

        let circles = picture.events.compactMap { circle in
            circle.number("cx").flatMap { x in circle.number("cy").map { (x: x, y: $0) } }
        }.sorted { $0.x < $1.x }
        try #require(circles.count == 11)
        for (left, right) in zip(circles, circles.dropFirst()) {
            #expect(abs(right.x - left.x - (circles[10].x - circles[0].x) / 10) < 0.2)
            #expect(abs(left.y - right.y - (circles[0].y - circles[10].y) / 10) < 0.2)
        }
        // The grid line of magnitude 5 goes through the event of magnitude 5, the fifth.
        let label = try #require(
            picture.elements.first {
                $0.name == "text" && $0.text == "5.0" && $0.attributes["text-anchor"] == "end"
            })
        #expect(abs(label.number("y")! - 4 - circles[4].y) < 0.2)
        #expect(picture.texts.contains("Origin time (UTC), 31 Dec 1969 – 1 Jan 1970"))
    }

    @Test("The line of the cumulative number ends at the number of events, whatever their order")
    func cumulative() throws {
        let events = (0..<5000).map {
            ChartEvent(time: Instant(milliseconds: Int64($0 * 7919 % 5000) * 60_000))
        }
        let picture = try #require(Picture(Plot.cumulative(events, caption: caption)))

        let line = try #require(picture.elements.first { $0.attributes["class"] == "line" }?.attributes["d"])
        let points = line.dropFirst().split(separator: "L").map {
            $0.split(separator: " ").compactMap { Double($0) }
        }
        #expect(points.count < 4000)
        let label = try #require(picture.elements.first { $0.text == "5000" })
        #expect(abs(points.last![1] - label.number("y")! + 4) < 0.2)
        for (left, right) in zip(points, points.dropFirst()) {
            #expect(right[0] >= left[0] && right[1] <= left[1])
        }
    }

    @Test("The magnitude–frequency plot has a point for each bin, and the fit in its legend")
    func magnitudes() throws {
        let magnitudes = [2.0, 2, 2, 2.1, 2.1, 2.5, 3, 3.04, 4]
        let events = magnitudes.map { ChartEvent(time: Instant(milliseconds: 0), magnitude: $0) }
        let picture = try #require(Picture(Plot.magnitudes(events, caption: caption)))

        // Bins 2.0, 2.1, 2.5, 3.0 and 4.0, and one mark of each kind in the legend.
        #expect(picture.elements.count { $0.attributes["class"] == "full" } == 6)
        #expect(picture.elements.count { $0.attributes["class"] == "hollow" } == 6)
        #expect(picture.texts.contains("completeness Mc = 2.0"))
        let b = try #require(GutenbergRichter(events).b)
        #expect(picture.texts.contains { $0.hasPrefix("b = \(Axis.decimal(b, 2)) ± ") })
    }

    @Test("Numbers that no earthquake has are left out", arguments: [1e300, -.infinity, .infinity, .nan])
    func absurd(number: Double) throws {
        let quake = try Quake { property in
            switch property {
            case .code, .net, .netCode: .text("a")
            case .time, .updated: .time(Instant(milliseconds: 0))
            case .longitude, .latitude, .depth, .magnitude: .number(number)
            default: .null
            }
        }
        let events = [ChartEvent(quake)]
        #expect(events[0].magnitude == nil && events[0].depth == nil)
        for svg in [
            Plot.time(events, caption: caption), Plot.cumulative(events, caption: caption),
            Plot.magnitudes(events, caption: caption),
            QuakeMap.svg(events, region: Region(fitting: events) ?? .world, caption: caption),
        ] {
            #expect(Picture(svg) != nil)
        }
    }

    @Test("Omori's law may name a rate of any size a day after the mainshock")
    func steep() {
        // All within an hour, a hundred days later.
        let rate = AftershockRate((0..<50).map { 100 + Double($0 * $0) / 60_000 }, observed: 1000)
        #expect((rate.omori?.k ?? 0) > 1e18)
        #expect(Picture(Plot.aftershocks(rate, caption: caption)) != nil)
        for number in [Double.infinity, -.infinity, .nan, 1e300] {
            #expect(Axis.decimal(number, 2) == "\(number)")
        }
    }

    @Test("Without events every plot is a picture of its axes")
    func empty() {
        let none = AftershockRate([], observed: 0)
        for svg in [
            Plot.time([], caption: caption), Plot.cumulative([], caption: caption),
            Plot.magnitudes([], caption: caption), Plot.aftershocks(none, caption: caption),
        ] {
            #expect(Picture(svg)?.texts.contains("Plot") == true)
        }
    }

    @Test(
        "Ticks are round numbers, and the axis has all values",
        arguments: [0.0...1, -1.2...6.9, 0...100_000, 2.5...2.5, 3.04...3.07])
    func linear(range: ClosedRange<Double>) {
        let axis = Axis.linear("", range)
        #expect((2...12).contains(axis.ticks.count))
        #expect(axis.range.lowerBound <= range.lowerBound && axis.range.upperBound >= range.upperBound)
        #expect(Set(axis.ticks.map(\.label)).count == axis.ticks.count)
        for tick in axis.ticks {
            let text = tick.label.replacing("−", with: "-").replacing("\u{2009}", with: "")
            #expect(abs(Double(text)! - tick.value) < 1e-9)
        }
    }

    @Test(
        "A time axis has some ticks for any length, and each label once",
        arguments: [60_000.0, 3.6e6, 5e7, 86_400_000, 6e8, 3e9, 9e9, 4e10, 3e11, 3e12, 6e13])
    func times(length: Double) {
        for start in [-6e13, 0, 1.4e12] {
            let axis = Axis.time(start...start + length)
            #expect((1...13).contains(axis.ticks.count), "\(axis.ticks)")
            #expect(axis.ticks.allSatisfy { axis.range.contains($0.value) })
        }
    }
}
