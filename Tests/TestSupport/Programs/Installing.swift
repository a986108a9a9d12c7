import Foundation

/// Runs one of the project's scripts that install what tests need, such as `clients`.
///
/// - Returns: the last line that it prints, which says where that is; nil when it cannot be installed.
func installed(by script: String, _ arguments: String...) -> String? {
    let process = Process()
    process.executableURL = projectFile("scripts/\(script)")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    do { try process.run() } catch { return nil }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? text.split(separator: "\n").last.map(String.init) : nil
}
