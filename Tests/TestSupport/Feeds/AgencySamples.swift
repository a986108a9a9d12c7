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

/// The shapes of files that people keep on disk, written by hand after public ones.
public enum FieldSamples {
    public static let folder = RealFeeds.folder.appending(path: "field")

    public static func path(_ name: String) -> String { folder.appending(path: name).path }

    public static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: name)))
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips where the files are not at hand.
    public static var needsFieldSamples: Self {
        .enabled(
            if: FileManager.default.fileExists(atPath: FieldSamples.folder.path),
            "the files that people keep are not beside the project: no ../shared/feeds/field")
    }

    /// Skips where the samples are not at hand.
    public static var needsAgencySamples: Self {
        .enabled(
            if: FileManager.default.fileExists(atPath: AgencySamples.folder.path),
            "the agencies' samples are not beside the project: no ../shared/feeds/agencies")
    }
}
