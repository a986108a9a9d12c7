import Foundation

/// ObsPy, the Python library of seismologists (https://docs.obspy.org).
public enum ObsPy {
    /// The Python that has it; nil when it cannot be installed.
    public static let python: String? = {
        let process = Process()
        process.executableURL =
            URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../scripts/obspy").standardizedFileURL
        let output = Pipe()
        process.standardOutput = output
        do { try process.run() } catch { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 ? text.split(separator: "\n").last.map(String.init) : nil
    }()
}
