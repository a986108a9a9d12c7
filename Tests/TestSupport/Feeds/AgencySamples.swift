import Foundation
import Testing

/// Responses of agencies other than the USGS. They are in a folder beside the project, and are not part of the project.
public enum AgencySamples {
    public static let folder = RealFeeds.folder.appending(path: "agencies")

    public static func path(_ name: String) -> String { folder.appending(path: name).path }

    public static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: name)))
    }
}

/// Files in formats that users keep on disk. They were written by hand, with public files as models.
public enum FieldSamples {
    public static let folder = RealFeeds.folder.appending(path: "field")

    public static func path(_ name: String) -> String { folder.appending(path: name).path }

    public static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: name)))
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test when the files are missing.
    public static var needsFieldSamples: Self {
        .enabled(
            if: FileManager.default.fileExists(atPath: FieldSamples.folder.path),
            "the users' sample files are missing: ../shared/feeds/field")
    }

    /// Skips the test when the samples are missing.
    public static var needsAgencySamples: Self {
        .enabled(
            if: FileManager.default.fileExists(atPath: AgencySamples.folder.path),
            "the agencies' samples are missing: ../shared/feeds/agencies")
    }
}
