import Foundation
import Testing

/// What other agencies sent, beside the project and no part of it.
public enum AgencySamples {
    public static let folder = RealFeeds.folder.appending(path: "agencies")

    public static func path(_ name: String) -> String { folder.appending(path: name).path }

    public static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: name)))
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips where the samples are not at hand.
    public static var needsAgencySamples: Self {
        .enabled(
            if: FileManager.default.fileExists(atPath: AgencySamples.folder.path),
            "the agencies' samples are not beside the project: no ../shared/feeds/agencies")
    }
}
