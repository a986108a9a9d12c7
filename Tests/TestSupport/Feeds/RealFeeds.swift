import Foundation
import Testing

/// The real feeds beside the project, which are not part of it.
public enum RealFeeds {
    /// Where they lie: `../shared/feeds` from the project's root.
    public static let folder = projectFile("../shared/feeds")

    /// The documents, by name; empty where there are none.
    public static let names: [String] = {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return all.filter { $0.hasSuffix(".geojson") }.sorted()
    }()

    public static func path(_ name: String) -> String {
        folder.appending(path: name).path
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips where the real feeds are not at hand.
    public static var needsRealFeeds: Self {
        .enabled(
            if: !RealFeeds.names.isEmpty, "the real feeds are not beside the project: no ../shared/feeds")
    }
}
