import Alerts
import Glibc
import Synchronization
import UnixSignals

/// The file with the rules that decide which messages each receiver gets.
struct RulesFile: Sendable {
    private let path: String
    /// The file's signature before it was first read.
    private let first: [Int]?

    init(_ path: String) {
        self.path = path
        first = Self.signature(path)
    }

    /// - Throws: `Failure`, with all problems of the file.
    func read() throws -> Rules {
        try Rules(yaml: contents(ofFile: path), file: path) { name in
            let town = try Town.named(name)
            return Point(latitude: town.latitude, longitude: town.longitude)
        }
    }

    /// Reads the file again each time it changes, and on SIGHUP, until the task is cancelled. A change is noticed within a
    /// second.
    func watch(_ changed: @escaping @Sendable (Result<Rules, any Error>) -> Void) async throws {
        let request = Request()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await _ in await UnixSignalsSequence(trapping: .sighup) {
                    request.isAsked.store(true, ordering: .relaxed)
                }
                // The sequence ends when the task is cancelled.
                try Task.checkCancellation()
            }
            group.addTask {
                var known = first
                while true {
                    try await Task.sleep(for: .seconds(1))
                    let isAsked = request.isAsked.exchange(false, ordering: .relaxed)
                    let present = Self.signature(path)
                    guard isAsked || present != known else { continue }
                    known = present
                    changed(Result { try read() })
                }
            }
            _ = try await group.next()
        }
    }

    /// Whether a SIGHUP has arrived since the file was last read.
    private final class Request: Sendable {
        let isAsked = Atomic(false)
    }

    /// Numbers that change when the file is written or replaced; nil if there is no file. A symbolic link is followed, because
    /// Kubernetes replaces a file by changing a link.
    private static func signature(_ path: String) -> [Int]? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return [
            Int(status.st_dev), Int(status.st_ino), status.st_size, status.st_mtim.tv_sec,
            status.st_mtim.tv_nsec,
        ]
    }
}
