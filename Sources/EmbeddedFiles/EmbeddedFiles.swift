import CEmbedded

/// The files that are embedded in the executable. `CEmbedded/embedded.c` lists them.
package enum EmbeddedFiles {
    /// Copies one file.
    ///
    /// - Parameter name: such as `map/land.txt`. Traps if there is no such file.
    package static func file(_ name: String) -> [UInt8] {
        guard let bytes = copies(where: { $0 == name })[name] else {
            preconditionFailure("\(name) is not listed in embedded.c")
        }
        return bytes
    }

    /// Copies the files of a folder, such as `migrations`. The keys are the file names without the folder.
    package static func inFolder(_ folder: String) -> [String: [UInt8]] {
        let files = copies { $0.hasPrefix("\(folder)/") }
        return Dictionary(
            uniqueKeysWithValues: files.map { (String($0.key.dropFirst(folder.count + 1)), $0.value) })
    }

    /// Copies only the wanted files, because every command reads the migrations, but few commands read the page.
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
