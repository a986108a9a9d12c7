import Foundation

/// Fetches a tool that only tests need, with `scripts/tools`.
///
/// - Returns: the path of the tool; nil when it is not available.
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
