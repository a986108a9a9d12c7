import Feed
import QuakeStore

/// A row of a list: an event, or in a merged list an earthquake with its agencies.
struct ListedQuake: Sendable {
    let quake: Quake
    var group: EarthquakeGroup?

    /// The columns that machine formats add after the columns of an event if the list is merged.
    static let groupColumns = ["earthquake", "magnitude_from", "agencies", "events"]

    var json: JSONObject {
        var object = quake.json
        if let group {
            for (name, value) in zip(Self.groupColumns, group.values) { object.append(name, value) }
        }
        return object
    }

    var fields: [CSV.Field] {
        guard let group else { return quake.fields }
        return quake.fields
            + [
                group.code, group.magnitudeFrom, group.agencies.joined(separator: ","),
                group.members.joined(separator: ","),
            ]
            .map { .text($0) }
    }

    /// The columns of a table for people.
    static func columns(
        near: QuakeSelection.Circle?, times: TimeZoneText, isMerged: Bool
    ) -> [Column<ListedQuake>] {
        var columns = Quake.columns(near: near, times: times).map {
            $0.of { (listed: ListedQuake) in listed.quake }
        }
        if isMerged {
            let place = columns.firstIndex { $0.layout.title == "place" } ?? columns.endIndex - 1
            columns.insert(
                Column("agencies", priority: 1) { listed in
                    listed.group?.agencies.map { $0.uppercased() }.joined(separator: " ") ?? ""
                }, at: place + 1)
        }
        return columns
    }
}

extension EarthquakeGroup {
    fileprivate var values: [(any JSONConvertible)?] { [code, magnitudeFrom, agencies, members] }
}
