import Association
import Feed
import PostgreSQL

/// The columns of `quake` that association needs.
enum SolutionColumns {
    private static let properties: [Property] = [
        .code, .net, .updated, .time, .latitude, .longitude, .depth, .magnitude, .magnitudeType, .status,
        .nst,
        .gap, .ids, .extra,
    ]

    /// The names and types of these columns, for `jsonb_to_record`.
    static let declarations = properties.declarations + ", imported_at timestamptz"

    /// The expressions that `Solution.next` reads. `row` is the row's name in SQL. In EMSC's rows, `auth` in `extra` names the
    /// agency whose solution EMSC has adopted. The uncertainties come from QuakeML
    /// (Sources/Feed/XMLEvents/QuakeMLExtra.swift).
    static func expressions(of row: String) -> String {
        properties.dropLast().list(row + ".") + """
            , \(row).imported_at, report.agency(\(row).net), \(row).extra ->> 'auth', \(row).extra ->> 'time_uncertainty', \
            \(row).extra ->> 'horizontal_uncertainty', \(row).extra ->> 'magnitude_uncertainty'
            """
    }

    static let count = properties.count + 5
}

extension Solution {
    /// Reads the columns of `SolutionColumns`; nil if they are all null, because an outer join has found no row.
    static func next(in row: inout Row) throws -> Solution? {
        guard let code = try row.nextText() else {
            try row.skip(SolutionColumns.count - 1)
            return nil
        }
        guard let network = try row.nextText(), let updated = try row.nextInstant(),
            let time = try row.nextInstant(), let latitude = try row.nextDouble(),
            let longitude = try row.nextDouble()
        else { throw RowError.other }
        let (depth, magnitude) = (try row.nextDouble(), try row.nextDouble())
        let (magnitudeType, status) = (try row.nextText(), try row.nextText())
        let (stations, gap, ids) = (try row.nextInteger(), try row.nextDouble(), try row.nextTexts())
        guard let firstSeen = try row.nextInstant(), let agency = try row.nextText() else {
            throw RowError.other
        }
        var solution = Solution(
            code: ExactText(code), agency: agency, network: network, firstSeen: firstSeen.milliseconds,
            updated: updated.milliseconds, time: time.milliseconds, latitude: latitude, longitude: longitude,
            depth: depth, magnitude: magnitude)
        solution.magnitudeType = magnitudeType
        solution.review = Review(status: status)
        solution.stations = stations.map(Int.init)
        solution.gap = gap
        solution.ids = (ids ?? []).map { ExactText($0) }
        solution.author = try row.nextText()
        // The uncertainties are texts in `extra`, and other programs may store something other than a number there.
        solution.uncertainty = Uncertainty(
            seconds: try row.nextText().flatMap(Double.init),
            kilometres: try row.nextText().flatMap(Double.init),
            magnitudes: try row.nextText().flatMap(Double.init))
        return solution
    }
}
