import Feed
import PostgreSQL

/// The earthquake that a row of the table describes, alone or together with rows of other agencies. `quakes associate` decides
/// which rows describe the same earthquake.
public struct EarthquakeGroup: Sendable, Equatable {
    /// The earthquake's code, which is the code of one of its rows.
    public let code: String
    /// The code of the row to show.
    public let preferred: String
    /// The code of the row whose magnitude is shown; nil if no row has a magnitude.
    public let magnitudeFrom: String?
    /// The `net` of the row that `magnitudeFrom` names.
    public let magnitudeNetwork: String?
    /// The different `net` values of the earthquake's rows, in the order of their bytes.
    public let networks: [String]
    /// The codes of the earthquake's rows, in the order of their bytes.
    public let members: [String]

    /// The columns that `SelectedQuakes.grouped` adds to the columns of a row.
    static let columns = "earthquake, preferred, magnitude_from, magnitude_network, networks, members"

    /// Reads the columns in the order of `columns`.
    public init(_ row: inout Row) throws {
        guard let code = try row.nextText(), let preferred = try row.nextText() else { throw RowError.other }
        (self.code, self.preferred) = (code, preferred)
        (magnitudeFrom, magnitudeNetwork) = (try row.nextText(), try row.nextText())
        (networks, members) = (try row.nextTexts() ?? [], try row.nextTexts() ?? [])
    }

    /// The agencies that report the earthquake, in the order of their names.
    public var agencies: [String] { Set(networks.map(Agency.name(ofNetwork:))).sorted() }
}
