/// The line of FDSN text that names the columns (https://www.fdsn.org/webservices/fdsnws-event-1.2.pdf, "Text format").
///
/// Columns are found by their names, never by their position: services leave some columns out and add others, write `Depth/Km` or
/// `MagnitudeType`, put blanks around the bars, or leave out the `#`. Other files have more spellings, such as `Depth (km)`,
/// which are accepted with a warning. A header line is refused if it is unclear which column has the depth or the magnitude,
/// because these values would be lost.
struct TextHeader {
    enum Column: Int, CaseIterable {
        case eventID, time, latitude, longitude, depth, author, catalog, contributor, contributorID
        case magnitudeType, magnitude, magnitudeAuthor, place, type
    }

    /// The greatest number of columns; the standard has 14.
    static let limit = 100

    let count: Int
    /// The columns that the standard does not have, with their names in lower case. A column is left out if its name means
    /// something else in a feature.
    private(set) var others: [(name: String, index: Int)] = []
    private(set) var isDepthInMetres = false
    private(set) var notes: [String] = []
    /// The positions of the standard's columns, in the order of `Column`; -1 for a missing column. They are in an array, because
    /// every row looks them up.
    private var indices = [Int](repeating: -1, count: Column.allCases.count)

    struct Fault: Error { let text: String }

    /// - Returns: nil if the line names no columns.
    /// - Throws: `Fault` if the line contains a carriage return, lacks a column that every event needs, names a column twice,
    ///   names too many columns, or is unclear about the depth or the magnitude.
    init?(_ line: UnsafeBufferPointer<UInt8>) throws(Fault) {
        var text = line[...]
        while let first = text.first, first == UInt8(ascii: "#") || first.isJSONWhitespace {
            text = text.dropFirst()
        }
        // A comment may have any number of bars, so the text after the limit is not split.
        let pieces = text.split(
            separator: UInt8(ascii: "|"), maxSplits: Self.limit, omittingEmptySubsequences: false)
        let written = pieces.prefix(Self.limit).map {
            String(decoding: $0.prefix(Self.nameLimit), as: UTF8.self).trimmed
        }
        let names = written.map { String($0.lowercased().filter { !$0.isWhitespace }) }
        guard names[0] == "eventid" || names.contains("eventid") && names.contains("time") else { return nil }
        // In a file whose lines end only with carriage returns, the rows would be read as columns.
        guard !text.contains(UInt8(ascii: "\r")) else {
            throw Fault(text: "the header line contains a carriage return; end the lines with LF or CR LF")
        }
        guard pieces.count <= Self.limit else {
            throw Fault(text: "the header line names more than \(Self.limit) columns")
        }
        count = names.count
        try find(names, written)
        for column in [Column.time, .latitude, .longitude] where index(of: column) == nil {
            throw Fault(text: "the header line has no column \(column.title)")
        }
        try checkValues(names, written)
    }

    private static let nameLimit = 256
    private static let taken = Set(
        Property.allCases.compactMap(\.feedName) + ["contributor_id", "magnitude_author"])

    func index(of column: Column) -> Int? {
        let index = indices[column.rawValue]
        return index < 0 ? nil : index
    }

    /// Finds the columns. The usual names have precedence: `Mag` beside `Magnitude` is an additional column.
    private mutating func find(_ names: [String], _ written: [String]) throws(Fault) {
        for (index, name) in names.enumerated() {
            guard let column = Self.column(name) else { continue }
            guard self.index(of: column) == nil else { throw Fault(text: Self.twice(name)) }
            indices[column.rawValue] = index
        }
        let usual = indices
        // A column without a name, as after a bar at the end of the line, is not read.
        for (index, name) in names.enumerated() where !name.isEmpty && Self.column(name) == nil {
            if let (column, isInMetres) = Self.variant(name), usual[column.rawValue] < 0 {
                guard self.index(of: column) == nil else { throw Fault(text: Self.twice(name)) }
                indices[column.rawValue] = index
                isDepthInMetres = isDepthInMetres || isInMetres
                notes.append(
                    "the column \(written[index]) is read as \(column.title)\(isInMetres ? ", and converted from metres" : "")"
                )
            } else if others.contains(where: { $0.name == name }) {
                throw Fault(text: Self.twice(name))
            } else if !Self.taken.contains(name) {
                others.append((name, index))
            }
        }
    }

    private static func twice(_ name: String) -> String { "the header line names a column twice: \(name)" }

    /// Refuses a header line without a depth or a magnitude if another column seems to have it.
    private mutating func checkValues(_ names: [String], _ written: [String]) throws(Fault) {
        let read = Set(indices)
        let unread = names.indices.filter { !read.contains($0) && !names[$0].isEmpty }
        for column in [Column.depth, .magnitude] where index(of: column) == nil && !unread.isEmpty {
            if let likely = unread.first(where: { column.seemsNamed(names[$0]) }) {
                throw Fault(
                    text:
                        "the header line has no column \(column.title), and it is unclear whether \(written[likely]) is that column; rename it"
                )
            }
            let others = unread.prefix(5).map { written[$0] }.joined(separator: ", ")
            notes.append(
                "the header line has no column \(column.title), so no event has this value; other columns are \(others)"
            )
        }
    }

    /// The column with this usual name; nil if the standard does not have it.
    private static func column(_ name: String) -> Column? {
        if let index = Column.titles.firstIndex(where: { $0.lowercased() == name }) {
            return Column(rawValue: index)
        }
        return switch name {
        // The SCEDC spells the column's name in this way.
        case "longtitude": .longitude
        case "depth": .depth
        case "magnitudetype": .magnitudeType
        case "magnitudeauthor": .magnitudeAuthor
        case "et": .type
        default: nil
        }
    }

    /// The column with another spelling of its name, such as `Depth_Km`, `depth [m]`, `Mag` or `event_type`.
    private static func variant(_ name: String) -> (column: Column, isInMetres: Bool)? {
        let plain = name.plain
        if let column = column(plain) { return (column, false) }
        return switch plain {
        case "depthkm", "depthinkm", "depthkilometers", "depthkilometres": (.depth, false)
        case "depthm", "depthinm", "depthmeters", "depthmetres": (.depth, true)
        case "mag", "magnitudevalue", "magvalue": (.magnitude, false)
        default: nil
        }
    }
}

extension TextHeader.Column {
    fileprivate static let titles = [
        "EventID", "Time", "Latitude", "Longitude", "Depth/km", "Author", "Catalog", "Contributor",
        "ContributorID", "MagType", "Magnitude", "MagAuthor", "EventLocationName", "EventType",
    ]

    fileprivate var title: String { Self.titles[rawValue] }

    fileprivate func seemsNamed(_ name: String) -> Bool {
        let plain = name.plain
        let parts = [
            "type", "author", "err", "unc", "sigma", "method", "quality", "stat", "phase", "id", "source",
        ]
        guard !parts.contains(where: { plain.contains($0) }) else { return false }
        return switch self {
        case .depth:
            plain.contains("dep") || plain.hasPrefix("prof") || plain.hasPrefix("tiefe") || plain == "z"
        case .magnitude:
            plain.contains("mag") || plain.wholeMatch(of: /m[blswdev]?[a-z]?/) != nil
        default: false
        }
    }
}

extension String {
    fileprivate var plain: String { filter { $0.isLetter || $0.isNumber } }
}
