import EmbeddedFiles

/// The coasts, borders and active faults that the map shows close up, in tiles of 10° by 10°, as `scripts/mapdata` writes them.
///
/// `tiles_coast.txt` names the source of the data and has a chart of the tiles that exist. `tiles_coast_170_-50.txt` is the tile
/// whose south-western corner is at longitude 170° and latitude −50°.
enum MapTiles {
    /// The embedded files, by name. Each one contains a chart and all tiles of one kind.
    static let sources: [String: [UInt8]] = EmbeddedFiles.inFolder("tiles")

    /// The charts and the tiles, by the names that the page requests.
    static let all: [String: ArraySlice<UInt8>] = sources.reduce(into: [:]) { all, source in
        let parts = parts(of: source.value)
        all["tiles_\(source.key)"] = source.value[parts[0].startIndex..<parts[1].endIndex]
        for part in parts.dropFirst(2) {
            let corner = part.prefix { $0 != UInt8(ascii: "\n") }
            let place = String(decoding: corner, as: UTF8.self).replacing(" ", with: "_")
            all["tiles_\(source.key.dropLast(".txt".count))_\(place).txt"] = part[corner.endIndex...]
                .dropFirst()
        }
    }

    /// The parts of a file, which are separated by empty lines.
    private static func parts(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .split(whereSeparator: \.isEmpty)
            .map { lines in bytes[lines[lines.startIndex].startIndex..<lines[lines.endIndex - 1].endIndex] }
    }
}
