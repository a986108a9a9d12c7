/// The line of FDSN text that names the columns (https://www.fdsn.org/webservices/fdsnws-event-1.2.pdf, "Text format").
///
/// Columns are found by their names, never by their place: services leave some out and add others, write `Depth/Km` or
/// `MagnitudeType`, put blanks round the bars, or leave out the `#`.
struct TextHeader {
    enum Column: Int, CaseIterable {
        case eventID, time, latitude, longitude, depth, author, catalog, contributor, contributorID
        case magnitudeType, magnitude, magnitudeAuthor, place, type
    }

    let count: Int
    /// Those that the standard does not have, by their names in small letters. One with a name that stands for something else
    /// in a feature is left out.
    private(set) var others: [(name: String, index: Int)] = []
    /// Where the standard's are, in their order above; -1 for one that is missing. Every row looks them up.
    private var indices = [Int](repeating: -1, count: Column.allCases.count)

    /// Why a line with the names of columns can't be used.
    struct Fault: Error { let text: String }

    /// - Returns: nil if the line names no columns.
    /// - Throws: `Fault` if it lacks a column without which there is no event, or has one twice.
    init?(_ line: UnsafeBufferPointer<UInt8>) throws(Fault) {
        var text = line[...]
        while let first = text.first, first == UInt8(ascii: "#") || first.isJSONWhitespace {
            text = text.dropFirst()
        }
        let names = text.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false).map {
            String(decoding: $0.filter { !$0.isJSONWhitespace }, as: UTF8.self).lowercased()
        }
        guard names[0] == "eventid" || names.contains("eventid") && names.contains("time") else { return nil }
        count = names.count
        for (index, name) in names.enumerated() {
            let column = Self.column(name)
            guard column.map({ self.index(of: $0) == nil }) ?? !others.contains(where: { $0.name == name })
            else {
                throw Fault(text: "the header line names a column twice: \(name)")
            }
            if let column {
                indices[column.rawValue] = index
            } else if !Self.taken.contains(name) {
                others.append((name, index))
            }
        }
        for (column, name) in [
            (Column.time, "Time"), (.latitude, "Latitude"), (.longitude, "Longitude"),
        ] where index(of: column) == nil {
            throw Fault(text: "the header line has no column \(name)")
        }
    }

    private static let taken = Set(
        Property.allCases.compactMap(\.feedName) + ["contributor_id", "magnitude_author"])

    func index(of column: Column) -> Int? {
        let index = indices[column.rawValue]
        return index < 0 ? nil : index
    }

    /// - Returns: nil for one that the standard does not have.
    private static func column(_ name: String) -> Column? {
        switch name {
        case "eventid": .eventID
        case "time": .time
        case "latitude": .latitude
        // As the SCEDC spells it.
        case "longitude", "longtitude": .longitude
        case "depth/km", "depth": .depth
        case "author": .author
        case "catalog": .catalog
        case "contributor": .contributor
        case "contributorid": .contributorID
        case "magtype", "magnitudetype": .magnitudeType
        case "magnitude": .magnitude
        case "magauthor", "magnitudeauthor": .magnitudeAuthor
        case "eventlocationname": .place
        case "eventtype", "et": .type
        default: nil
        }
    }
}
