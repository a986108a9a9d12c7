import CEmbedded

/// The files that the executable carries, by name: `migrations/0001_history.sql`, `map/land.txt`, `page/main.js`. A new one is
/// listed in `CEmbedded/embedded.c`.
package enum EmbeddedFiles {
    package static let all: [String: [UInt8]] = {
        let files = UnsafeBufferPointer(start: embedded_files, count: embedded_file_count)
        return Dictionary(
            uniqueKeysWithValues: files.map { file in
                (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            })
    }()

    /// The files of a folder, by their names there.
    package static func inFolder(_ folder: String) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for (name, bytes) in all where name.hasPrefix("\(folder)/") {
            files[String(name.dropFirst(folder.count + 1))] = bytes
        }
        return files
    }
}
