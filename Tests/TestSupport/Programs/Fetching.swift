import Foundation

/// Fetches what only tests need, such as `clients`, by `scripts/tools`.
///
/// - Returns: where it is; nil when it cannot be had.
func fetched(_ tool: String...) -> String? {
    let process = Process()
    process.executableURL = projectFile("scripts/tools")
    process.arguments = tool
    let output = Pipe()
    process.standardOutput = output
    do { try process.run() } catch { return nil }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? text.split(separator: "\n").last.map(String.init) : nil
}
