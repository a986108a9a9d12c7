import Foundation

/// A file or folder of the project, by its path from the project's root, such as `docs/database.md`.
public func projectFile(_ path: String) -> URL {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../\(path)").standardizedFileURL
}
