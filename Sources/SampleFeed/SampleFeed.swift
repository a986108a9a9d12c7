import Feed

/// A synthetic feed in the GeoJSON summary format, for trials and measurements without internet access.
///
/// It cannot be mistaken for a real feed: its networks are `q0` to `q9`, which no agency uses, its places are invented, and its
/// addresses are on example.org. Its URL is not the URL of a summary feed, so importing the feed never deletes events. The feed
/// has properties of real feeds that synthetic feeds often lack: nulls, negative magnitudes and depths, several `ids`, raw codes
/// that repeat across networks, quarry blasts, and place names in many scripts, both escaped and raw.
///
/// The same `count`, `seed`, `revised` and `until` give the same bytes on every machine, because the feed uses neither a clock
/// nor libm nor a hash seed. Events are about four minutes apart; a million events span almost eight years. An event depends only
/// on the seed and the event's number. So a shorter feed contains the newest events of a longer feed, and a feed with a later end
/// continues a feed with an earlier end. Events that two such feeds share differ at most in `updated`. IDs are unique within a
/// document. Documents with different seeds have different events, but may share a few IDs.
public struct SampleFeed: Sendable {
    let count: Int
    let seed: UInt64
    let revised: Double
    private let first: Int

    /// The default end of a feed: 2026-01-01T00:00:00Z.
    public static let standardEnd = Instant(milliseconds: Int64(SampleEvent.end))

    /// - Parameters:
    ///   - revised: the fraction, 0...1, of the events that differ from the same feed with `revised: 0`. They have a newer
    ///     `updated`, a slightly different magnitude, depth and `nst`, and the status `reviewed`. All other features are the
    ///     same, byte by byte. A larger fraction includes the revised events of a smaller one, with the same revisions.
    ///   - end: the end of the feed: no event is later. The document says that it was made ten minutes later, or seventy minutes
    ///     later if it has revisions.
    public init(count: Int, seed: UInt64 = 1, revised: Double = 0, until end: Instant = standardEnd) {
        self.count = max(0, count)
        self.seed = seed
        self.revised = min(max(revised, 0), 1)
        first = -(Int(end.milliseconds) - SampleEvent.end).divided(by: SampleEvent.interval).whole
    }

    /// Calls `write` with the successive pieces of the document, each at most 64 KiB and valid only during the call.
    /// Each piece ends where a feature ends. Memory does not grow with the count.
    public func write(to write: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        let catalogue = SampleCatalogue.shared
        let generated = SampleEvent.end - first * SampleEvent.interval + 600_000
        let revisions = generated..<generated + 3_600_000
        var least = SIMD3<Int>(repeating: .max)
        var greatest = SIMD3<Int>(repeating: .min)
        var text: SampleText = """
            {"type":"FeatureCollection","metadata":{"generated":\(revised > 0 ? revisions.upperBound : generated),\
            "url":"https://example.org/quakes/sample.geojson","title":"Synthetic earthquakes, not real",\
            "status":200,"api":"1.14.1","count":\(count)},"features":[
            """
        for index in first..<first + count {
            var event = SampleEvent(index: index, seed: seed, generated: generated, catalogue: catalogue)
            if isRevised(index) { event.revise(seed: seed, between: revisions) }
            least = pointwiseMin(least, SIMD3(event.longitude, event.latitude, event.depth ?? .max))
            greatest = pointwiseMax(greatest, SIMD3(event.longitude, event.latitude, event.depth ?? .min))
            text.appendInterpolation("\(word: index == first ? "\n" : ",\n")\(event.text(catalogue))")
            if text.bytes.count > SampleText.pieceSize - SampleText.longestFeature {
                try text.bytes.withUnsafeBytes(write)
                text.bytes.removeAll(keepingCapacity: true)
            }
        }
        text.appendLiteral("]")
        if count > 0 {
            if least.z > greatest.z { (least.z, greatest.z) = (0, 0) }
            text.appendInterpolation(",\"bbox\":[\(corner(least)),\(corner(greatest))]")
        }
        text.appendLiteral("}\n")
        try text.bytes.withUnsafeBytes(write)
    }

    private func corner(_ point: SIMD3<Int>) -> SampleText {
        "\(point.x, decimals: 4),\(point.y, decimals: 4),\(point.z, decimals: 2)"
    }

    /// Selects the revised events by a golden-ratio sequence, which spreads them evenly over the document. A larger fraction
    /// keeps the revised events of a smaller one, and adds others.
    private func isRevised(_ index: Int) -> Bool {
        if revised >= 1 { return true }
        let position =
            UInt64(bitPattern: Int64(index)) &* 0x9E37_79B9_7F4A_7C15 &+ seed &* 0xD1B5_4A32_D192_ED03
        return Double(position >> 11) * 0x1p-53 < revised
    }
}
