import Glibc
import QueueExecutor

/// Reads from a file or a pipe, on a thread of its own: a pipe's read blocks for as long as its writer likes.
actor DescriptorReader {
    /// The number of a system call's error.
    struct SystemError: Error { let code: Int32 }

    private let executor = QueueExecutor(label: "feed.file")
    private let descriptor: Int32

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The descriptor stays the caller's, who closes it.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Waits for the next bytes; none are the end.
    func read() throws -> [UInt8] {
        while true {
            try Task.checkCancellation()
            // A quarter of a second, and another look at cancellation.
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 250) > 0 else { continue }
            var error: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 256 << 10) { buffer, count in
                let result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, result)
                if result < 0 { error = errno }
            }
            switch error {
            case 0: return bytes
            case EINTR, EAGAIN: continue
            default: throw SystemError(code: error)
            }
        }
    }
}
