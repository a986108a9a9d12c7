import NIOCore
import QuakeStore
import Synchronization

/// One pass of the process's follower, kept for its clients. It is written once for all who get the same bytes.
final class LivePass: Sendable {
    let start: Position
    let end: Position
    let madeAt = ContinuousClock.now
    private let changes: ChangeLines
    private let made = Mutex(Made())

    private struct Made {
        var bytes: [StreamForm: ByteBuffer] = [:]
        var size = 0
        /// Kept while the pass is the newest.
        var quakes: ChangedQuakes?
        var isNewest = true
    }

    init(_ changes: ChangeLines, from start: Position, to end: Position) {
        (self.changes, self.start, self.end) = (changes, start, end)
    }

    /// How much memory it takes.
    var size: Int { changes.bytes.count + made.withLock { $0.size } }

    /// A later pass has come: what is only of use for many clients at once is dropped.
    func grewOld() {
        made.withLock {
            $0.quakes = nil
            $0.isNewest = false
        }
    }

    /// The pass as a chunk of an HTTP body.
    ///
    /// - Parameter token: the changes up to this one are left out.
    func chunk(_ form: StreamForm, after token: Int) -> ByteBuffer {
        guard token <= start.token else { return form.framed(written(form, after: token, nil)) }
        return made.withLock { made in
            if let bytes = made.bytes[form] { return bytes }
            if form.filter != nil, made.quakes == nil {
                made.quakes = ChangedQuakes(changes.lines(after: token))
            }
            let chunk = form.framed(written(form, after: token, made.quakes))
            if !made.isNewest { made.quakes = nil }
            made.bytes[form] = chunk
            made.size += chunk.readableBytes
            return chunk
        }
    }

    private func written(_ form: StreamForm, after token: Int, _ quakes: ChangedQuakes?) -> [UInt8] {
        var bytes: [UInt8] = []
        let lines = changes.lines(after: token)
        if let filter = form.filter {
            let quakes = quakes ?? ChangedQuakes(lines)
            for (line, key) in zip(lines, quakes.keys) {
                let match = quakes.match(key, filter.selection)
                guard match.ever else { continue }
                let end = Array(",\"selected\":\(match.now)}".utf8)
                form.format.append(.change, [line.dropLast(), end[...]].joined(), to: &bytes)
            }
        } else {
            for line in lines { form.format.append(.change, line, to: &bytes) }
        }
        form.format.append(end, to: &bytes)
        return bytes
    }
}

/// Changes as lines of JSON, in token order.
struct ChangeLines: Sendable {
    private(set) var bytes: [UInt8] = []
    private var ends: [(token: Int, end: Int)] = []

    var count: Int { ends.count }

    /// - Parameter line: begins with the token, as all lines of a pass do.
    mutating func append(_ line: UnsafeRawBufferPointer) {
        let digits = line.dropFirst(#"{"token":"#.utf8.count).prefix { $0 != UInt8(ascii: ",") }
        bytes.append(contentsOf: line)
        ends.append((digits.reduce(0) { $0 * 10 + Int($1 & 15) }, bytes.count))
    }

    func lines(after token: Int) -> some Sequence<ArraySlice<UInt8>> {
        let first = ends.firstIndex { $0.token > token } ?? ends.count
        return (first..<ends.count).lazy.map { index in
            bytes[(index == 0 ? 0 : ends[index - 1].end)..<ends[index].end]
        }
    }
}
