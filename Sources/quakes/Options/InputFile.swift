import FoundationEssentials
import Glibc
import QuakeView

/// The bytes of a file that a person wrote, such as rules or parameters.
///
/// - Throws: `FileError` with the system's reason.
func contents(ofFile path: String) throws(FileError) -> [UInt8] {
    if let data = FileManager.default.contents(atPath: path) { return Array(data) }
    // FileManager does not report the reason, so the file is opened to get the system's error.
    let file = open(path, O_RDONLY | O_CLOEXEC)
    let code = file < 0 ? errno : EISDIR
    if file >= 0 { close(file) }
    throw FileError(operation: "read", path: path, code: code)
}
