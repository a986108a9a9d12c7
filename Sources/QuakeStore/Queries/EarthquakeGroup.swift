import Feed
import PostgreSQL

/// The earthquake that a row of the table describes, alone or with the rows of other agencies, as `quakes associate` has found.
public struct EarthquakeGroup: Sendable, Equatable {
    /// The earthquake's code, which is the code of one of its rows.
    public let code: String
    /// The row to show.
    public let preferred: String
    /// The row whose magnitude to show; nil if no row has a magnitude.
    public let magnitudeFrom: String?
    /// That row's `net`.
    public let magnitudeNetwork: String?
    /// The different `net` values of the earthquake's rows, in the order of their bytes.
    public let networks: [String]
    /// The codes of the earthquake's rows, in the order of their bytes.
    public let members: [String]

    /// The columns of `SelectedQuakes.grouped`.
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
