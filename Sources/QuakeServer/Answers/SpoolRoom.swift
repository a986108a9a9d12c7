import Synchronization

/// How much of all answers together waits for clients, in memory and in temporary files.
final class SpoolRoom: Sendable {
    private let memoryLimit: Int
    private let fileLimit: Int
    private let used = Mutex((memory: 0, files: 0))

    init(_ settings: ServerSettings) {
        (memoryLimit, fileLimit) = (settings.spooledMemory, settings.spooledBytes)
    }

    /// Whether no further answer should begin. Those that have begun go on: there are no more of them than sessions.
    var isFull: Bool { files >= fileLimit }

    /// The bytes in files.
    var files: Int { used.withLock { $0.files } }

    /// - Returns: false if there is no room for so many bytes in memory.
    func takeMemory(_ count: Int) -> Bool {
        used.withLock { used in
            guard used.memory + count <= memoryLimit else { return false }
            used.memory += count
            return true
        }
    }

    func giveMemory(_ count: Int) { used.withLock { $0.memory -= count } }
    func takeFile(_ count: Int) { used.withLock { $0.files += count } }
    func giveFile(_ count: Int) { used.withLock { $0.files -= count } }
}
