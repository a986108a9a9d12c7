import Foundation
import Glibc

extension QuakesCommand {
    /// Runs the executable to its end with a terminal as standard output. The terminal supports colours and links.
    public func runAtTerminal(_ arguments: [String], columns: Int = 80) async throws -> Outcome {
        // These calls replace posix_openpt, unlockpt and ptsname, which the Glibc module lacks (ioctl_tty(2)).
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (locked, number): (Int32, UInt32) = (0, 0)
        guard master >= 0, ioctl(master, 0x4004_5431, &locked) == 0, ioctl(master, 0x8004_5430, &number) == 0
        else {
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        let name = "/dev/pts/\(number)"
        let slave = FileHandle(
            fileDescriptor: open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), closeOnDealloc: true)
        var command = self
        command.environment["COLUMNS"] = "\(columns)"
        command.environment["TERM"] = command.environment["TERM"] ?? "xterm-256color"

        // The output has to be read while the executable runs, because a terminal holds only a few kilobytes.
        async let shown = withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Self.everything(from: master)) }
        }
        let outcome = try await command.run(arguments, writingTo: slave) { _ in }
        try slave.close()
        return Outcome(
            status: outcome.status, output: await shown.replacing("\r\n", with: "\n"), errors: outcome.errors)
    }

    /// All output of a terminal until the last program closes the terminal.
    private static func everything(from master: Int32) -> String {
        var shown: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(master, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            shown += buffer[..<count]
        }
        close(master)
        return String(decoding: shown, as: UTF8.self)
    }
}
