import Association
import Feed
import Foundation

/// Measures how well groups agree with the truth.
struct Score {
    var found = 0
    var right = 0
    var real = 0
    var events = 0
    var exact = 0

    var precision: Double { Double(right) / Double(max(found, 1)) }
    var recall: Double { Double(right) / Double(max(real, 1)) }
    var exactShare: Double { Double(exact) / Double(max(events, 1)) }

    /// Counts the pairs of rows in the same group (`found`), the pairs that report the same event (`real`), the pairs that do
    /// both (`right`), and the events whose group is exactly right. Only the true events that `isCounted` accepts, and the groups
    /// that contain rows of these events, count.
    init(
        _ groups: [ExactText: Int], _ catalogue: MadeUpCatalogue,
        where isCounted: (Int) -> Bool = { _ in true }
    ) {
        let byGroup = Dictionary(grouping: catalogue.rows.map(\.code)) { groups[$0]! }
        let byEvent = Dictionary(grouping: catalogue.rows.map(\.code)) { catalogue.truth[$0]! }
        for members in byGroup.values {
            let events = Dictionary(grouping: members) { catalogue.truth[$0]! }
            let all = members.count * (members.count - 1) / 2
            if members.contains(where: { isCounted(catalogue.truth[$0]!) }) { found += all }
            for (event, members) in events where isCounted(event) {
                right += members.count * (members.count - 1) / 2
            }
            // Pairs whose two rows report the same uncounted event are left out.
            if members.contains(where: { isCounted(catalogue.truth[$0]!) }) {
                for (event, members) in events where !isCounted(event) {
                    found -= members.count * (members.count - 1) / 2
                }
            }
        }
        for (event, members) in byEvent where isCounted(event) {
            events += 1
            real += members.count * (members.count - 1) / 2
            let group = groups[members[0]]!
            if byGroup[group]!.count == members.count, members.allSatisfy({ groups[$0] == group }) {
                exact += 1
            }
        }
    }

    static let head = "precision  recall   exact"

    var text: String { String(format: "%8.4f %8.4f %8.4f", precision, recall, exactShare) }
}

func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

/// Peak memory of the process in MB.
func peakMegabytes() -> Double {
    var usage = rusage()
    getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_maxrss) / 1024
}

/// CPU time of the process in seconds.
func processorSeconds() -> Double {
    var usage = rusage()
    getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(
        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}
