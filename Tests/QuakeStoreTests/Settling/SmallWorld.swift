import SampleFeed

/// Four statements about many events. A statement says one `Word` about each event, and each possible combination of four words
/// has an event.
///
/// An event has three versions: the original one, one with another `felt` and the same `updated`, and one that was revised later.
/// The revision may have moved the origin, for example to the edge of the last statement's hour. Any statement may list any
/// version, because a service's servers may disagree for hours.
///
/// An event belongs to one of two services, or the owner of its id is unknown. Each service also lists the other service's
/// events.
///
/// There are also families of three events. Each statement lists some of them, and each listed event may name any of the others
/// among its `ids`. The origin times of the first and the last event are too far apart for the two to be the same event.
struct SmallWorld: CustomStringConvertible {
    private static let kinds = ["all_hour", "all_day", "2.5_day", "backfill", "sweep"]
    private static let services = [Event.host, "other.example.org"]
    private static let owners = services + [nil]

    /// What a document says about an event.
    enum Word: CaseIterable {
        case nothing, found, felt, revised, unreadable, renamed, deleted
    }

    /// What a document says about one event of a family.
    enum Mention {
        case absent, deleted
        /// The event is listed, names these other events, and may be in a later revision.
        case listed(naming: [Int], isLater: Bool)
    }

    struct Case {
        let words: [Word]
        let owner: String?
    }

    struct Family {
        /// What each statement says about each of the events.
        let mentions: [[Mention]]
        let owner: String?
    }

    private static let members = [("us", 10_020), ("ci", 10_023), ("nc", 10_026)]

    private let kinds: [String]
    private let services: [String]
    /// When the statements are made. The second and the third one may be made at the same moment.
    private let minutes: [Int]
    /// The time of the revision, and the revised origin time. The periods of some documents reach back to that origin time, and
    /// those of others do not.
    private let revised: (updated: Int, time: Int)
    let cases: [Case]
    let families: [Family]

    var description: String {
        "\(statements), revised at \(revised.updated) to \(revised.time)"
    }

    init(families count: Int, using random: inout SplitMix64) {
        let kinds = (0..<4).map { _ in Self.kinds[random.below(Self.kinds.count)] }
        // One service makes most of the statements.
        services = kinds.map { _ in Self.services[random.below(4) / 3] }
        // A feed has at most one document for each moment.
        let isSame = random.below(2) == 0 && kinds[1] != kinds[2]
        minutes = [10_060, 10_066, isSame ? 10_066 : 10_072, 10_090]
        revised = (
            [10_040, 10_058, 10_064][random.below(3)], [10_004, 10_010, 10_020, 10_031][random.below(4)]
        )
        families = (0..<count).map { _ in
            Family(
                mentions: kinds.map { Self.mentions(in: $0, using: &random) },
                owner: Self.owners[random.below(Self.owners.count)])
        }
        let sequences = kinds.reduce([[]]) { sequences, kind in
            sequences.flatMap { before in
                Word.allCases.filter { $0 != .deleted || kind == "sweep" }.map { before + [$0] }
            }
        }
        cases = sequences.flatMap { words in
            // One in eight of the cases that do not belong to the first service is kept.
            Self.owners.filter { $0 == Event.host || random.below(8) == 0 }.map {
                Case(words: words, owner: $0)
            }
        }
        self.kinds = kinds
    }

    private static func mentions(in kind: String, using random: inout SplitMix64) -> [Mention] {
        let isListed = members.map { _ in random.below(2) == 0 }
        return isListed.map { isListed in
            guard isListed else { return kind == "sweep" && random.below(4) == 0 ? .deleted : .absent }
            return .listed(
                naming: members.indices.filter { _ in random.below(2) == 0 }, isLater: random.below(4) == 0)
        }
    }

    var statements: [Statement] {
        kinds.enumerated().map { index, kind in
            var statement = Statement(service: services[index], feed: kind, made: minutes[index])
            // Because of this event, every document has a readable feature.
            statement.events = [Event("us0", time: 10_020, updated: 10_022)]
            for (number, event) in cases.enumerated() {
                say(event.words[index], "x\(number)", of: event.owner, in: &statement)
            }
            for (number, family) in families.enumerated() {
                say(family.mentions[index], "y\(number)", of: family.owner, in: &statement)
            }
            return statement
        }
    }

    private func say(_ word: Word, _ code: String, of owner: String?, in statement: inout Statement) {
        let (event, heir) = ("us\(code)", "ci\(code)")
        switch word {
        case .nothing: break
        case .found:
            statement.events.append(Event(event, time: 10_020, updated: 10_022, host: owner))
        case .felt:
            statement.events.append(Event(event, time: 10_020, updated: 10_022, felt: 1, host: owner))
        case .revised:
            statement.events.append(Event(event, time: revised.time, updated: revised.updated, host: owner))
        case .unreadable: statement.events.append(Event(event, host: owner, isBroken: true))
        case .renamed:
            statement.events.append(
                Event(heir, time: 10_021, updated: 10_023, ids: [event, heir], host: owner))
        case .deleted: statement.deletions[event] = 10_050
        }
    }

    private func say(
        _ mentions: [Mention], _ code: String, of owner: String?, in statement: inout Statement
    ) {
        let codes = Self.members.map { "\($0.0)\(code)" }
        for ((member, mention), (_, time)) in zip(zip(codes, mentions), Self.members) {
            switch mention {
            case .absent: break
            case .deleted: statement.deletions[member] = 10_050
            case .listed(let others, let isLater):
                let ids = [member] + others.map { codes[$0] }.filter { $0 != member }
                statement.events.append(
                    Event(member, time: time, updated: time + (isLater ? 20 : 2), ids: ids, host: owner))
            }
        }
    }
}
