import CEmbedded

/// The files that the executable carries. A new one is listed in `CEmbedded/embedded.c`.
package enum EmbeddedFiles {
    /// Copies one file.
    ///
    /// - Parameter name: such as `map/land.txt`. There has to be such a file.
    package static func file(_ name: String) -> [UInt8] {
        guard let bytes = copies(where: { $0 == name })[name] else {
            preconditionFailure("\(name) is not listed in embedded.c")
        }
        return bytes
    }

    /// Copies the files of a folder, such as `migrations`, by their names there.
    package static func inFolder(_ folder: String) -> [String: [UInt8]] {
        let files = copies { $0.hasPrefix("\(folder)/") }
        return Dictionary(
            uniqueKeysWithValues: files.map { (String($0.key.dropFirst(folder.count + 1)), $0.value) })
    }

    /// Only those that are wanted: every command reads the migrations, and few the page.
    private static func copies(where isWanted: (String) -> Bool) -> [String: [UInt8]] {
        var copies: [String: [UInt8]] = [:]
        for file in UnsafeBufferPointer(start: embedded_files, count: embedded_file_count) {
            let name = String(cString: file.name)
            guard isWanted(name) else { continue }
            copies[name] = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
        }
        return copies
    }
}
