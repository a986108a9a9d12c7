import Foundation

/// Small feeds that tests make from features.
public enum SmallFeed {
    /// A feature with the properties that every feature needs, at a fixed place.
    ///
    /// - Parameters:
    ///   - updated: milliseconds since 1970.
    ///   - more: further properties, as JSON members.
    public static func feature(
        _ code: String, net: String = "q0", updated: Int = 1000, place: String = "somewhere",
        magnitude: String = "1.5", more: String = ""
    ) -> String {
        """
        {"type":"Feature","properties":{"mag":\(magnitude),"place":"\(place)","time":1000,"updated":\(updated),\
        "net":"\(net)","code":"\(code)"\(more.isEmpty ? "" : ",\(more)")},\
        "geometry":{"type":"Point","coordinates":[10,20,30]},"id":"\(net)\(code)"}
        """
    }

    public static func document(_ features: [String]) -> String {
        "{\"type\":\"FeatureCollection\",\"features\":[\(features.joined(separator: ","))]}"
    }

    /// Runs `body` with the path of a temporary file that contains the document.
    public static func withFile<Result>(
        _ document: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        let path = FileManager.default.temporaryDirectory.appending(path: "feed-\(UUID()).geojson").path
        try Data(document.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }
}
