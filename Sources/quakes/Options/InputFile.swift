import Feed
import Glibc

/// The bytes of a file that the user names, such as a rules file. The file may be a pipe.
///
/// - Throws: `Failure` with the system's reason.
func contents(ofFile path: String) throws(Failure) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Failure(cannot: "read", path, code: errno) }
    defer { close(file) }
    var contents: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(file, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        if count < 0 { throw Failure(cannot: "read", path, code: errno) }
        if count == 0 { return contents }
        contents += chunk[..<count]
    }
}
