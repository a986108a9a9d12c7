import Glibc
import QuakeView
import Subprocess

/// A file that holds a picture. It is replaced as a whole: who looks at it never sees half a picture.
struct PictureFile {
    let path: String

    private var new: String { path + ".new" }

    /// - Throws: `FileError`.
    func write(_ svg: String) throws {
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("write") }
        defer { close(descriptor) }
        var rest = Array(svg.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                let error = failure("write")
                unlink(new)
                throw error
            }
            rest = rest.dropFirst(count)
        }
        guard rename(new, path) == 0 else { throw failure("replace") }
    }

    /// Has `rsvg-convert` draw the picture, at twice its size.
    ///
    /// - Throws: `NoPNG`, `FileError`.
    func writePNG(_ svg: String) async throws {
        // Fails early, and with the system's own words, where no file can be written.
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("write") }
        close(descriptor)
        do {
            let result = try await Subprocess.run(
                .name("rsvg-convert"),
                arguments: ["--zoom", "2", "--unlimited", "--format", "png", "--output", new],
                input: .string(svg), output: .discarded, error: .string(limit: 1 << 16))
            guard result.terminationStatus.isSuccess else {
                throw NoPNG(reason: result.standardError.split(separator: "\n").first.map(String.init))
            }
        } catch {
            unlink(new)
            guard let error = error as? SubprocessError else { throw error }
            throw NoPNG(reason: error.code == .executableNotFound ? nil : error.description)
        }
        guard rename(new, path) == 0 else { throw failure("replace") }
    }

    private func failure(_ operation: String) -> FileError {
        FileError(operation: operation, path: path, code: errno)
    }
}

/// The picture could not be drawn as PNG.
struct NoPNG: Error, CustomStringConvertible {
    /// nil when the program is not installed.
    let reason: String?

    var description: String {
        if let reason {
            return "rsvg-convert could not draw the picture: \(strippingControlCharacters(reason))"
        }
        return "PNG needs rsvg-convert: apt install librsvg2-bin, or give --output a name that ends in .svg"
    }
}
