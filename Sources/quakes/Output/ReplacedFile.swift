import Feed
import Glibc
import Subprocess

/// A file that is replaced as a whole: another program never sees half of it.
struct ReplacedFile {
    let path: String

    private var new: String { path + ".new" }

    /// Creates the new file, with the permissions of the file that it replaces.
    private func create() throws -> Int32 {
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("write") }
        var status = stat()
        if stat(path, &status) == 0 { fchmod(descriptor, status.st_mode & 0o777) }
        return descriptor
    }

    /// - Parameter isDurable: whether to return only once the text is on disk.
    /// - Throws: `Failure`.
    func write(_ text: String, isDurable: Bool = false) throws {
        let descriptor = try create()
        defer { close(descriptor) }
        do {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { throw failure("write") }
                rest = rest.dropFirst(count)
            }
            guard !isDurable || fsync(descriptor) == 0 else { throw failure("write") }
            guard rename(new, path) == 0 else { throw failure("replace") }
        } catch {
            unlink(new)
            throw error
        }
    }

    /// Draws the picture with `rsvg-convert`, at twice its size.
    ///
    /// - Throws: `Failure`, also if the picture could not be drawn.
    func writePNG(_ svg: String) async throws {
        // The file is opened first: if it can't be written, this fails early and with the system's own message.
        close(try create())
        do {
            let result = try await Subprocess.run(
                .name("rsvg-convert"),
                arguments: ["--zoom", "2", "--unlimited", "--format", "png", "--output", new],
                input: .inputWriter, output: .discarded, error: .string(limit: 1 << 16)
            ) { execution in
                do {
                    _ = try await execution.standardInputWriter.write(svg)
                } catch let error as SubprocessError where error.underlyingError == .brokenPipe {
                    // rsvg-convert ended without reading all of the picture; its errors say why.
                }
            }
            guard result.terminationStatus.isSuccess else {
                throw noPNG(because: result.standardError.split(separator: "\n").first.map(String.init))
            }
            guard rename(new, path) == 0 else { throw failure("replace") }
        } catch {
            unlink(new)
            try Task.checkCancellation()
            guard let error = error as? SubprocessError else { throw error }
            throw noPNG(because: error.code == .executableNotFound ? nil : error.description)
        }
    }

    private func failure(_ operation: String) -> Failure {
        Failure(cannot: operation, path, code: errno)
    }

    /// - Parameter reason: nil when the program is not installed.
    private func noPNG(because reason: String?) -> Failure {
        guard let reason else {
            return Failure(
                .unavailable,
                "PNG needs rsvg-convert: apt install librsvg2-bin, or give --output a name that ends in .svg")
        }
        let shown = strippingControlCharacters(reason)
        return Failure(.unavailable, "rsvg-convert could not draw the picture: \(shown)")
    }
}
