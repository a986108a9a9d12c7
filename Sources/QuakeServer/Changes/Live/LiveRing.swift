import QuakeStore

/// The passes that are kept for live clients. Passes are numbered, and `first` is the number of the oldest kept pass.
struct LiveRing {
    var first = 0
    var passes: [LivePass] = []
    /// The follower's position, which is the end of the last pass; nil before the first pass.
    var position: Position?
    /// The signature of the table in these passes; nil before the first pass.
    var signature: String?
    /// How many times changes were skipped. After a skip, the next pass does not begin where the last pass ended.
    var epoch = 0
    var isEnding = false

    var next: Int { first + passes.count }

    /// The pass with this number; nil if it is no longer kept.
    subscript(number: Int) -> LivePass? {
        passes.indices.contains(number - first) ? passes[number - first] : nil
    }

    /// The position at which a client with this start joins the live passes; nil if the client has to read from the database
    /// first.
    func position(of start: ChangesRequest.Start) -> Position? {
        switch start {
        case .now: position
        case .position(let named, _): place(after: named, of: signature, epoch: nil) == nil ? nil : named
        case .token(let token):
            position?.token == token ? position : passes.first { $0.start.token == token }?.start
        case .snapshot: nil
        }
    }

    /// The place in the passes where a client that has everything up to `position` continues; nil if the client has to read from
    /// the history first.
    ///
    /// - Parameters:
    ///   - signature: the table's signature when the client got its rows.
    ///   - epoch: if `position` is the end of a catch-up, the epoch of the live passes when the catch-up began; otherwise nil.
    func place(after position: Position, of signature: String?, epoch: Int?) -> LivePlace? {
        if let epoch {
            guard epoch == self.epoch else { return nil }
            guard let start = passes.first?.start ?? self.position else {
                return LivePlace(next: next, reached: position, signature: signature)
            }
            guard start.token <= position.token else { return nil }
        } else {
            guard signature == self.signature else { return nil }
            guard position == self.position || passes.contains(where: { $0.start == position }) else {
                return nil
            }
        }
        let index = passes.firstIndex { $0.end.token > position.token } ?? passes.count
        return LivePlace(next: first + index, reached: position, signature: signature)
    }

    mutating func clear() { (first, passes) = (next, []) }

    /// Drops the oldest passes as long as more than 1000 are kept, the oldest is older than `time`, or all passes together take
    /// more than `limit` bytes. The newest pass is always kept.
    mutating func trim(to limit: Int, after time: Duration) {
        var size = passes.reduce(0) { $0 + $1.size }
        let now = ContinuousClock.now
        var count = 0
        for pass in passes.dropLast()
        where size > limit || passes.count - count > 1000 || now - pass.madeAt > time {
            size -= pass.size
            count += 1
        }
        passes.removeFirst(count)
        first += count
    }
}

struct LivePlace {
    var next: Int
    /// The line in the pass `next` from which the client continues; nil for the beginning of that pass.
    var line: Int?
    /// The end of the last pass that was sent completely.
    var reached: Position
    /// The table's signature when the client got its rows.
    let signature: String?
}
