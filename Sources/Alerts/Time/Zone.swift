import Feed
import Foundation

/// A time zone of the system's database, such as `Europe/Berlin`.
///
/// The files under `/usr/share/zoneinfo` are read directly (TZif, RFC 9636). Foundation's zones come from the ICU data that is
/// built into the program, so they do not have zone rules that changed after the build.
public struct Zone: Sendable, Equatable {
    public let name: String
    /// The changes of the offset in ascending order: the moment in seconds since 1970, and the index in `types` of the local time
    /// that starts at this moment.
    private let changes: [(at: Int64, type: Int)]
    private let types: [LocalType]
    /// The rule for all times after the last change.
    private let rule: ZoneRule?

    struct LocalType: Equatable {
        /// Seconds east of UTC.
        let offset: Int
        /// Such as `CET`, or `+03`.
        let abbreviation: String
    }

    public static let utc = Zone(
        name: "UTC", changes: [], types: [.init(offset: 0, abbreviation: "UTC")], rule: nil)

    private init(name: String, changes: [(at: Int64, type: Int)], types: [LocalType], rule: ZoneRule?) {
        (self.name, self.changes, self.types, self.rule) = (name, changes, types, rule)
    }

    /// Zones are compared by their names.
    public static func == (left: Zone, right: Zone) -> Bool { left.name == right.name }

    // MARK: Local time

    func localType(at moment: Instant) -> LocalType {
        let seconds = moment.milliseconds.divided(by: 1000).whole
        guard let last = changes.last else { return rule?.localType(at: seconds) ?? types[0] }
        if seconds >= last.at, let rule { return rule.localType(at: seconds) }
        // Finds the last change at or before the moment by bisection.
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].at <= seconds { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? types[0] : types[changes[low - 1].type]
    }

    /// The local date and time at `moment`, as an instant: formatted in UTC, it shows what a clock in the zone shows.
    func localTime(at moment: Instant) -> Instant {
        moment + Int64(localType(at: moment).offset) * 1000
    }

    /// The first moment of this day at which a clock in the zone shows this time of day or a later one.
    ///
    /// When clocks are put back, some times of day occur twice: the first one is returned. When clocks are put forward, some
    /// times do not occur: the moment of the change is returned.
    func moment(day: Int64, minute: Int) -> Instant {
        let local = day * 86_400 + Int64(minute) * 60
        // All offsets are shorter than a day, and there is at most one change between these two moments.
        let earlier = offset(local - 86_400)
        let later = offset(local + 86_400)
        let candidates = [earlier, later].sorted(by: >).map { local - $0 }
        for seconds in candidates where seconds + offset(seconds) == local {
            return Instant(milliseconds: seconds * 1000)
        }
        // The time does not occur on this day. The change is between the two candidates.
        var (low, high) = (candidates[0], max(candidates[0], candidates[1]))
        while low < high {
            let middle = (low + high).divided(by: 2).whole
            if middle + offset(middle) >= local { high = middle } else { low = middle + 1 }
        }
        return Instant(milliseconds: low * 1000)
    }

    private func offset(_ seconds: Int64) -> Int64 {
        Int64(localType(at: Instant(milliseconds: seconds * 1000)).offset)
    }
}

// MARK: Reading

extension Zone {
    /// The directory of the system's time zones.
    static let systemFolder = "/usr/share/zoneinfo"

    /// - Parameter name: such as `Asia/Tokyo`.
    /// - Returns: nil if the system has no such zone.
    public init?(named name: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isSafe = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { $0.isAlphanumeric || "_+-".utf8.contains($0) }
        }
        guard isSafe, let data = FileManager.default.contents(atPath: "\(Self.systemFolder)/\(name)") else {
            return nil
        }
        self.init(name: name, Array(data))
    }

    /// The names of the system's time zones, for suggestions; empty if the system has no list of them.
    static func names() -> [String] {
        let list = FileManager.default.contents(atPath: "\(systemFolder)/tzdata.zi") ?? Data()
        return String(decoding: list, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.count >= 2 && words[0] == "Z"
                ? String(words[1])
                : words.count >= 3 && words[0] == "L" ? String(words[2]) : nil
        }
    }

    /// - Parameter bytes: the contents of a TZif file.
    init?(name: String, _ bytes: [UInt8]) {
        // The first block has 32-bit times. Since version 2 of the format, a second block repeats these times in 64 bits.
        guard let first = TZifHeader(bytes, at: 0), first.version >= UInt8(ascii: "2"),
            let header = TZifHeader(bytes, at: first.end(timeSize: 4))
        else { return nil }
        let end = header.end(timeSize: 8)
        guard end <= bytes.count, header.typeCount > 0 else { return nil }
        let indices = header.start + header.timeCount * 8
        let locals = indices + header.timeCount
        let names = locals + header.typeCount * 6
        let types = (0..<header.typeCount).map { index in
            let at = locals + index * 6
            let start = names + Int(bytes[at + 5])
            let text = bytes[min(start, end)..<end].prefix { $0 != 0 }
            return LocalType(
                offset: Int(Int32(truncatingIfNeeded: bigEndian(bytes, at, 4))),
                abbreviation: String(decoding: text, as: UTF8.self))
        }
        let changes = (0..<header.timeCount).map { index in
            (at: bigEndian(bytes, header.start + index * 8, 8), type: Int(bytes[indices + index]))
        }
        guard changes.allSatisfy({ $0.type < types.count }) else { return nil }
        let footer = bytes[end...].split(separator: UInt8(ascii: "\n")).first.map {
            String(decoding: $0, as: UTF8.self)
        }
        self.init(name: name, changes: changes, types: types, rule: footer.flatMap(ZoneRule.init))
    }
}

private struct TZifHeader {
    let version: UInt8
    let start: Int
    let timeCount: Int
    let typeCount: Int
    private let characterCount: Int
    private let leapCount: Int
    private let standardCount: Int
    private let universalCount: Int

    init?(_ bytes: [UInt8], at offset: Int) {
        guard bytes.count >= offset + 44, bytes[offset..<offset + 4].elementsEqual("TZif".utf8) else {
            return nil
        }
        let counts = (0..<6).map { Int(bigEndian(bytes, offset + 20 + $0 * 4, 4)) }
        guard counts.allSatisfy({ 0..<100_000 ~= $0 }) else { return nil }
        version = bytes[offset + 4]
        start = offset + 44
        (universalCount, standardCount, leapCount) = (counts[0], counts[1], counts[2])
        (timeCount, typeCount, characterCount) = (counts[3], counts[4], counts[5])
    }

    func end(timeSize: Int) -> Int {
        start + timeCount * (timeSize + 1) + typeCount * 6 + characterCount + leapCount * (timeSize + 4)
            + standardCount + universalCount
    }
}

private func bigEndian(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int64 {
    bytes[start..<start + count].reduce(0) { $0 << 8 | Int64($1) }
}
