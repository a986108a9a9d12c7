import Foundation
import Subprocess
import TestSupport

/// A disk for a program's temporary files. A test can block the disk: a preloaded library replaces pwrite, and waits as a blocked
/// disk would.
struct SlowDisk {
    private let folder: URL

    private static let source = #"""
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
            if (access(getenv("DISK_STOPPED"), F_OK) == 0) {
                int waiting = open(getenv("DISK_WAITING"), O_WRONLY | O_APPEND | O_CREAT, 0600);
                write(waiting, "x", 1);
                close(waiting);
            }
            while (access(getenv("DISK_STOPPED"), F_OK) == 0) usleep(10000);
            return syscall(SYS_pwrite64, file, bytes, count, offset);
        }
        """#

    /// Swift's toolchain includes clang.
    static let canBeBuilt = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains
    {
        FileManager.default.isExecutableFile(atPath: "\($0)/clang")
    }

    init(in folder: URL) async throws {
        self.folder = folder
        let compiled = try await Subprocess.run(
            .name("clang"), arguments: ["-shared", "-fPIC", "-w", "-o", path("disk.so"), "-xc", "-"],
            input: .string(Self.source), output: .discarded, error: .string(limit: 1 << 20))
        if !compiled.terminationStatus.isSuccess { throw NotBuilt(errors: compiled.standardError) }
    }

    struct NotBuilt: Error {
        let errors: String
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    /// Starts a program that uses this disk.
    var launcher: [String] {
        [
            "env", "LD_PRELOAD=\(path("disk.so"))", "DISK_STOPPED=\(path("stopped"))",
            "DISK_WAITING=\(path("waiting"))",
        ]
    }

    func stop() { _ = FileManager.default.createFile(atPath: path("stopped"), contents: nil) }
    func goOn() { try? FileManager.default.removeItem(atPath: path("stopped")) }

    /// The number of writes that have been blocked.
    var waiting: Int { (try? Data(contentsOf: URL(filePath: path("waiting"))).count) ?? 0 }
}
