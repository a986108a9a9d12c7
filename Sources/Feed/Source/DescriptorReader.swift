import Glibc
import QueueExecutor

/// Reads from a file or a pipe on a separate thread, because reading from a pipe blocks until its writer writes.
actor DescriptorReader {
    struct SystemError: Error { let code: Int32 }

    private let executor = QueueExecutor(label: "feed.file")
    private let descriptor: Int32

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The caller keeps the descriptor and closes it.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Waits for the next bytes. An empty result means the end of the file.
    func read() throws -> [UInt8] {
        while true {
            try Task.checkCancellation()
            // Checks for a cancellation four times a second.
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 250) > 0 else { continue }
            var error: Int32 = 0
            // Memory of 128 KiB or more goes back to the system each time it is freed (see `Quakes.main`), which takes as long as
            // reading the bytes.
            let bytes = [UInt8](unsafeUninitializedCapacity: 120 << 10) { buffer, count in
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
