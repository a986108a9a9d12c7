import Feed

/// The changes to write after rows were grouped again. Each change has a reason, which the history keeps.
///
/// Only earthquakes of several rows are written: a row that is an earthquake by itself needs no record. One statement writes all
/// changes with the same reason. Most changes share one of a few reasons, so there are few statements.
public struct Revision: Sendable, Equatable {
    /// The code of a group, or of a member, whose record is deleted.
    public struct Removal: Sendable, Equatable {
        public var code: ExactText
        public var reason: ExactText
    }

    /// A group of several rows that is new or has changed.
    public struct Update: Sendable, Equatable {
        public var earthquake: Earthquake
        /// The members that are new in the group, or differ from the stored members.
        public var members: [Member]
        public var reason: ExactText
    }

    /// The groups of several rows that do not exist any more, ordered by code.
    public var removals: [Removal] = []
    /// Ordered by the earthquakes' codes.
    public var updates: [Update] = []
    /// The rows that were in a group and are alone now, or were deleted, ordered by code.
    public var departures: [Removal] = []

    /// - Parameters:
    ///   - old: all stored earthquakes with a member among the rows that were grouped again or deleted.
    ///   - new: the earthquakes of the rows that were grouped again, including those with only one row.
    public init(from old: [Earthquake], to new: [Earthquake]) {
        let oldByCode = Dictionary(uniqueKeysWithValues: old.map { ($0.code, $0) })
        let (oldHomes, newHomes) = (Self.homes(old), Self.homes(new))
        let several = new.filter { $0.members.count > 1 }
        let kept = Set(several.map(\.code))
        for earthquake in several where oldByCode[earthquake.code] != earthquake {
            let members = earthquake.members.filter { member in
                let home = oldHomes[member.code]
                return home?.earthquake != earthquake.code || home?.member != member
            }
            let reason = Self.reason(
                for: earthquake, since: oldByCode[earthquake.code],
                origin: oldHomes[earthquake.code]?.earthquake)
            updates.append(Update(earthquake: earthquake, members: members, reason: reason))
        }
        for earthquake in old where !kept.contains(earthquake.code) {
            removals.append(
                Removal(code: earthquake.code, reason: Self.reason(forRemoving: earthquake, newHomes)))
        }
        let together = Set(several.flatMap(\.members).map(\.code))
        for code in oldHomes.keys where !together.contains(code) {
            departures.append(Removal(code: code, reason: newHomes[code] == nil ? "withdrawn" : "split"))
        }
        updates.sort { $0.earthquake.code < $1.earthquake.code }
        removals.sort { $0.code < $1.code }
        departures.sort { $0.code < $1.code }
    }

    private typealias Home = (earthquake: ExactText, member: Member)

    /// The earthquake of each member, by the member's code.
    private static func homes(_ earthquakes: [Earthquake]) -> [ExactText: Home] {
        var homes: [ExactText: Home] = [:]
        for earthquake in earthquakes {
            for member in earthquake.members { homes[member.code] = (earthquake.code, member) }
        }
        return homes
    }

    /// - Parameter origin: the code of the earthquake to which the row with the code `earthquake.code` belonged before.
    private static func reason(
        for earthquake: Earthquake, since previous: Earthquake?, origin: ExactText?
    ) -> ExactText {
        guard let previous else { return origin.map { "split from \($0)" } ?? "reported" }
        let (members, before) = (Set(earthquake.members.map(\.code)), Set(previous.members.map(\.code)))
        let words = [
            members.isSubset(of: before) ? nil : "joined",
            before.isSubset(of: members) ? nil : "left",
            earthquake.preferred == previous.preferred ? nil : "preferred",
        ]
        let said = words.compactMap(\.self).joined(separator: ", ")
        return said.isEmpty ? "revised" : ExactText(said)
    }

    /// The reason names the earthquake that now contains the row with the removed earthquake's code. If that row was deleted, the
    /// reason names the earthquake that contains the most of the remaining members.
    private static func reason(
        forRemoving earthquake: Earthquake, _ homes: [ExactText: Home]
    ) -> ExactText {
        if let home = homes[earthquake.code]?.earthquake {
            return home == earthquake.code ? "split" : "superseded by \(home)"
        }
        var counts: [ExactText: Int] = [:]
        for member in earthquake.members {
            if let home = homes[member.code]?.earthquake { counts[home, default: 0] += 1 }
        }
        let most = counts.values.max()
        guard let home = counts.filter({ $0.value == most }).keys.min() else {
            return "withdrawn"
        }
        return "superseded by \(home)"
    }
}
