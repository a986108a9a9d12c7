import Feed
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Charts

@Suite("Plots")
struct PlotTests {
    private let caption = Caption(title: "Plot", lines: [])

    @Test("Events are drawn at the time and magnitude that the axes give")
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
        // The grid line of magnitude 5 goes through the fifth event, whose magnitude is 5.
        let label = try #require(
            picture.elements.first {
                $0.name == "text" && $0.text == "5.0" && $0.attributes["text-anchor"] == "end"
            })
        #expect(abs(label.number("y")! - 4 - circles[4].y) < 0.2)
        #expect(picture.texts.contains("Origin time (UTC), 31 Dec 1969 – 1 Jan 1970"))
    }

    @Test("The cumulative line rises to the number of events, even if the events are not in order")
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
        let picture = try #require(Picture(Plot.magnitudes(GutenbergRichter(events), caption: caption)))

        // There are five bins: 2.0, 2.1, 2.5, 3.0 and 4.0. The sixth mark of each kind is in the legend.
        #expect(picture.elements.count { $0.attributes["class"] == "full" } == 6)
        #expect(picture.elements.count { $0.attributes["class"] == "hollow" } == 6)
        #expect(
            picture.texts.contains("completeness Mc = 2.0 (maximum curvature, tends to be 0.2 too low)"))
        let fit = try #require(GutenbergRichter(events).fit)
        #expect(
            picture.texts.contains {
                $0.hasPrefix("b = \(Axis.decimal(fit.b, 2)) ± ") && $0.contains(" fit (")
            })
    }

    /// A mixture of 1000 events of at least magnitude 4, as in a long catalogue, and 2000 events of at least magnitude 1, as in a
    /// short one.
    private static let mixed = (0..<3000).map { index in
        let share = (Double(index % 1000) + 0.5) / 1000
        return ChartEvent(
            time: Instant(milliseconds: 0), magnitude: (index < 2000 ? 1 : 4) - 0.05 - log10(share))
    }

    @Test("A poor fit is labelled and drawn as poor, next to a good fit that begins at a larger magnitude")
    func poorFit() throws {
        let relation = GutenbergRichter(Self.mixed)
        let poor = try #require(relation.fit)
        let good = try #require(relation.good)
        #expect(!poor.isGood && good.isGood && good.from == 40)
        #expect(abs(good.b - 1) < 0.1)

        let picture = try #require(Picture(Plot.magnitudes(relation, caption: caption)))
        #expect(picture.texts.contains { $0.contains("poor fit") })
        #expect(picture.texts.contains { $0.contains("from M 4.0: good fit") })
        for name in ["poor", "fit"] {
            #expect(picture.elements.count { $0.attributes["class"] == name } == 2, "a line and its key")
        }
        let known = GutenbergRichter(Self.mixed, completeness: 4)
        #expect(known.fit?.from == 40 && known.fit?.isGood == true && known.other == nil)
    }

    /// In a catalogue of 2000 events with b = 1, half of the events of at least magnitude 3.5 are missing. The magnitudes of the
    /// other half are 0.3 too low.
    @Test("A fit is poor if its points bend away from the line, even if only a few do")
    func bend() throws {
        let magnitudes = (0..<2000).map { 1.95 - log10((Double($0) + 0.5) / 2000) }
        let event = { ChartEvent(time: Instant(milliseconds: 0), magnitude: $0) }
        let straight = try #require(GutenbergRichter(magnitudes.map(event)).fit)
        let large = magnitudes.filter { $0 > 3.45 }
        let bent =
            magnitudes.filter { $0 <= 3.45 } + stride(from: 1, to: large.count, by: 2).map { large[$0] - 0.3 }
        let fit = try #require(GutenbergRichter(bent.map(event)).fit)
        #expect(straight.isGood && straight.deviation < 1)
        #expect(fit.goodness >= 90 && fit.distance <= 1.36 / Double(fit.count).squareRoot())
        #expect(!fit.isGood && fit.deviation > 3, "\(fit)")
        let picture = try #require(
            Picture(Plot.magnitudes(GutenbergRichter(bent.map(event)), caption: caption)))
        #expect(picture.texts.contains { $0.contains("poor fit") && $0.hasSuffix(" σ)") })
        #expect(picture.texts.contains { $0.hasPrefix("good: the line explains at least 90 %") })
    }

    @Test("Periods that the catalogue does not hold are shaded, and interrupt the cumulative line")
    func gaps() throws {
        func day(_ number: Int) -> Instant { Instant(milliseconds: Int64(number) * 86_400_000) }
        let events = [1, 2, 3, 4, 40, 41, 42].map { ChartEvent(time: day($0), magnitude: 5) }
        let coverage = Coverage([
            .init(from: day(0), until: day(5), minimumMagnitude: nil),
            .init(from: day(39), until: day(50), minimumMagnitude: 4.5),
        ])
        let whole = try #require(Picture(Plot.cumulative(events, caption: caption)))
        let broken = try #require(
            Picture(Plot.cumulative(events, coverage: coverage, from: 4.5, caption: caption)))
        #expect(whole.elements.count { $0.attributes["class"] == "line" } == 1)
        #expect(whole.elements.allSatisfy { $0.attributes["class"] != "gap" })
        let lines = broken.elements.filter { $0.attributes["class"] == "line" }
        #expect(lines.count == 2)
        // There is one gap; the second element is its key below the axes.
        let gaps = broken.elements.filter { $0.attributes["class"] == "gap" }
        try #require(gaps.count == 2)
        let (left, width) = try (#require(gaps[0].number("x")), #require(gaps[0].number("width")))
        let ends = lines.map { line in
            (line.attributes["d"] ?? "").dropFirst().split(separator: "L").compactMap {
                $0.split(separator: " ").first.flatMap { Double($0) }
            }
        }
        #expect(abs(ends[0].last! - left) < 0.2 && abs(ends[1].first! - left - width) < 0.2)

        // Nothing is shaded if the catalogue holds all events of at least magnitude 2.5.
        let alike = Coverage([.init(from: day(-9), until: day(50), minimumMagnitude: 2.5)])
        let even = try #require(Picture(Plot.cumulative(events, coverage: alike, caption: caption)))
        #expect(even.elements.allSatisfy { $0.attributes["class"] != "gap" })

        // The second period is a gap only below magnitude 4.5, and a plot of magnitudes shades only that part.
        let time = try #require(Picture(Plot.time(events, coverage: coverage, caption: caption)))
        let shades = time.elements.filter { $0.attributes["class"] == "gap" }
        #expect(shades.count >= 2 && time.texts.contains("not held by the catalogue"))
        #expect(
            coverage.gaps(day(1)...day(42), from: 4.5)
                == "Not held by the catalogue: 6 Jan 1970 – 9 Feb 1970.")
        #expect(
            coverage.gaps(day(1)...day(42))
                == "Not held by the catalogue: 6 Jan 1970 – 9 Feb 1970; 9 Feb 1970 – 12 Feb 1970, below magnitude 4.5."
        )
        #expect(Coverage().gaps(day(1)...day(42)) == nil)
        #expect(coverage.heldUntil(day(2)) == day(5) && coverage.heldUntil(day(20)) == nil)
        #expect(coverage.heldUntil(day(45)) == day(50))
    }

    @Test("A cross-section shows the events of its strip by distance along the section and by depth")
    func section() throws {
        // The section runs along the equator and is 10 degrees long.
        let section = try #require(Section(from: (0, 175), to: (0, -175), width: 100))
        #expect(abs(section.length - 6371 * .pi / 18) < 1e-6)
        func event(_ latitude: Double, _ longitude: Double, _ depth: Double?) -> ChartEvent {
            ChartEvent(
                time: Instant(milliseconds: 0), latitude: latitude, longitude: longitude, depth: depth,
                magnitude: 5)
        }
        let events = [
            event(0, 175, 0), event(0.4, 180, 300), event(-0.4, -175, 600),
            // These events are left out: they are too far from the line, before its start, after its end, on the other side of
            // the earth, and without a depth.
            event(0.5, 180, 10), event(0, 174.9, 10), event(0, -174.9, 10), event(0, 0, 10),
            event(0, 180, nil),
        ]
        let picture = try #require(Picture(Plot.section(events, along: section, caption: caption)))
        let circles = picture.events.compactMap { circle in
            circle.number("cx").flatMap { x in circle.number("cy").map { (x: x, y: $0) } }
        }.sorted { $0.x < $1.x }
        try #require(circles.count == 3)
        #expect(abs(circles[1].x - (circles[0].x + circles[2].x) / 2) < 0.2)
        #expect(abs(circles[1].y - (circles[0].y + circles[2].y) / 2) < 0.2 && circles[2].y > circles[0].y)
        #expect(picture.texts.contains { $0.contains("1112 km long, 100 km wide; 3 events in it") })
        #expect(picture.texts.contains("1 event without a depth is left out."))
        let circle = section.circle
        #expect(abs(circle.latitude) < 1e-9 && abs(abs(circle.longitude) - 180) < 1e-9)
        #expect(circle.kilometres > section.length / 2)
        #expect(Section(from: (10, 20), to: (10, 20), width: 1) == nil)
        #expect(Section(from: (10, 20), to: (-10, -160), width: 1) == nil)
    }

    @Test("The histogram of depths has a bar for each range with events; its length is the number of events")
    func depths() throws {
        let events = [1.0, 2, 3, 33, 33, 610, nil].map {
            ChartEvent(time: Instant(milliseconds: 0), depth: $0, magnitude: 5)
        }
        let picture = try #require(Picture(Plot.depths(events, caption: caption)))
        let bars = picture.elements.filter { $0.attributes["class"]?.hasSuffix(" bar") == true }
        let widths = bars.compactMap { $0.number("width") }
        try #require(widths.count == 3)
        #expect(abs(widths[0] / 3 - widths[2]) < 0.2 && abs(widths[1] / 2 - widths[2]) < 0.2)
        #expect(bars[0].number("y")! < bars[1].number("y")! && bars[1].number("y")! < bars[2].number("y")!)
        #expect(picture.texts.contains("1 event without a depth is left out."))
    }

    @Test(
        "Every bar of the histogram of depths is inside the frame, and the axis is labelled where there are bars",
        arguments: [[10.0], [600, 700], [10, 33, 35], [-3.5, -2.3], [0], [4.99, 5]])
    func deepestBar(depths: [Double]) throws {
        let events = depths.map { ChartEvent(time: Instant(milliseconds: 0), depth: $0, magnitude: 5) }
        let picture = try #require(Picture(Plot.depths(events, caption: caption)))
        let bars = picture.elements.filter { $0.attributes["class"]?.hasSuffix(" bar") == true }
        try #require(!bars.isEmpty)
        for bar in bars {
            let (top, height) = (try #require(bar.number("y")), try #require(bar.number("height")))
            #expect(height > 1 && top > 55 && top + height < 527, "\(top) \(height)")
        }
        let labels = picture.elements.filter { $0.attributes["text-anchor"] == "end" }
            .compactMap { $0.text.replacing("−", with: "-") }.compactMap { Double($0) }
        #expect(labels.contains { $0 <= depths.min()!.rounded(.up) })
        #expect(labels.contains { $0 >= depths.max()! })
    }

    @Test("A plot of magnitudes says how many events it leaves out, and its time axis includes these events")
    func leftOut() throws {
        let events = [nil, nil, 3.0].enumerated().map {
            ChartEvent(time: Instant(milliseconds: Int64($0) * 86_400_000), magnitude: $1)
        }
        let time = try #require(Picture(Plot.time(events, caption: caption)))
        #expect(time.texts.contains("2 events without a magnitude are left out."))
        #expect(time.texts.contains { $0.hasPrefix("Origin time (UTC)") && $0.contains("1970") })
        let none = try #require(Picture(Plot.time([events[0]], caption: caption)))
        #expect(!none.texts.contains { $0.contains("2000") })
        let blast = ChartEvent(time: events[0].time, magnitude: 3, isEarthquake: false)
        let relation = GutenbergRichter(events + [blast])
        let magnitudes = try #require(Picture(Plot.magnitudes(relation, caption: caption)))
        #expect(magnitudes.texts.contains("3 events without a magnitude or of another type are left out."))
    }

    @Test("Earthquakes that all have the same magnitude give no b value")
    func oneBin() {
        let events = (0..<60).map { ChartEvent(time: Instant(milliseconds: Int64($0)), magnitude: 4.2) }
        #expect(GutenbergRichter(events).fit == nil)
        #expect(GutenbergRichter(events).good == nil)
    }

    @Test("Long lines of the caption are broken, and a long title gets a smaller font")
    func longCaption() throws {
        let words = (1...60).map { "word\($0)" }.joined(separator: " ")
        let long = Caption(title: String(repeating: "Title ", count: 40), lines: [words, "short"])
        let picture = try #require(Picture(Plot.time([], caption: long)))
        let lines = picture.elements.filter { $0.attributes["font-size"] == "11" }
        #expect(lines.map(\.text).joined(separator: " ") == words + " short")
        #expect(lines.allSatisfy { $0.text.count <= 130 } && lines.count > 3)
        let title = try #require(picture.elements.first { $0.text == long.title && $0.name == "text" })
        #expect(try #require(title.number("font-size")) * 0.64 * 240 <= 920)
    }

    @Test(
        "The legend shows sizes for at least two magnitudes, unless all events have the same",
        arguments: [([4.0, 4.9], 2), ([4.3, 4.6], 2), ([4.3, 4.3], 1), ([2.5, 7.1], 5), ([4.1, 5.9], 3)])
    func sizes(magnitudes: [Double], count: Int) throws {
        let events = magnitudes.map { ChartEvent(time: Instant(milliseconds: 0), depth: 1, magnitude: $0) }
        let picture = try #require(Picture(Plot.time(events, caption: caption)))
        #expect(picture.elements.count { $0.attributes["class"] == "hollow" } == count)
    }

    @Test(
        "Impossible coordinates, depths and magnitudes are left out",
        arguments: [1e300, -.infinity, .infinity, .nan])
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
            Plot.magnitudes(GutenbergRichter(events), caption: caption),
            QuakeMap.svg(events, region: Region(fitting: events) ?? .world, caption: caption),
        ] {
            #expect(Picture(svg) != nil)
        }
    }

    @Test("A very large rate in Omori's law does not break the plot")
    func steep() {
        // All aftershocks happen within the same hour, a hundred days after the mainshock.
        let rate = AftershockRate((0..<50).map { 100 + Double($0 * $0) / 60_000 }, observed: 1000)
        #expect((rate.omori?.k ?? 0) > 1e18)
        #expect(Picture(Plot.aftershocks(rate, caption: caption)) != nil)
        for number in [Double.infinity, -.infinity, .nan, 1e300] {
            #expect(Axis.decimal(number, 2) == "\(number)")
        }
    }

    @Test("Without events, every plot shows its empty axes")
    func empty() {
        let none = AftershockRate([], observed: 0)
        for svg in [
            Plot.time([], caption: caption), Plot.cumulative([], caption: caption),
            Plot.magnitudes(GutenbergRichter([]), caption: caption), Plot.aftershocks(none, caption: caption),
        ] {
            #expect(Picture(svg)?.texts.contains("Plot") == true)
        }
    }

    @Test(
        "The label of a tick is its exact value, and the axis includes all values",
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
        "The axis of a single value has short labels, and the value is near the middle of the axis",
        arguments: [5.0, 4.3, -0.55, 0])
    func single(value: Double) {
        let axis = Axis.linear("", value...value)
        #expect((5...8).contains(axis.ticks.count))
        #expect(axis.ticks.allSatisfy { $0.label.count <= 4 }, "\(axis.ticks)")
        #expect((0.3...0.7).contains(axis.share(value)))
    }

    @Test(
        "A time axis of any length has 1 to 13 ticks, all within its range",
        arguments: [60_000.0, 3.6e6, 5e7, 86_400_000, 6e8, 3e9, 9e9, 4e10, 3e11, 3e12, 6e13])
    func times(length: Double) {
        for start in [-6e13, 0, 1.4e12] {
            let axis = Axis.time(start...start + length)
            #expect((1...13).contains(axis.ticks.count), "\(axis.ticks)")
            #expect(axis.ticks.allSatisfy { axis.range.contains($0.value) })
        }
    }
}
