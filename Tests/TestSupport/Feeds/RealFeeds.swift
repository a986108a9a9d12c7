import Foundation
import Testing

/// Real feeds in a folder beside the project; they are not part of the project.
public enum RealFeeds {
    /// The folder of the feeds: `../shared/feeds` from the project's root.
    public static let folder = projectFile("../shared/feeds")

    /// The file names of the documents, sorted; empty when there are none.
    public static let names: [String] = {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return all.filter { $0.hasSuffix(".geojson") }.sorted()
    }()

    public static func path(_ name: String) -> String {
        folder.appending(path: name).path
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test when the real feeds are missing.
    public static var needsRealFeeds: Self {
        .enabled(
            if: !RealFeeds.names.isEmpty, "the real feeds are missing: ../shared/feeds")
    }
}
