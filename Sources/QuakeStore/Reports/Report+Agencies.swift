import Feed
import PostgreSQL

extension Report {
    /// Whether the catalogue has events of several agencies. This is a quick check: it is true if some events were found to be
    /// one earthquake, or if the newest thousand events are of several agencies.
    public static func hasSeveralAgencies(on connection: Connection) async throws -> Bool {
        try await connection.query(
            """
            select exists (select from report.solution)
                or (select count(distinct report.agency(network)) > 1
                    from (select network, code from report.event order by origin_time desc limit 1000) as newest
                    -- Events of the synthetic feed do not count, because its networks are not agencies.
                    where code like '%:%' or report.agency(network) = 'usgs') as has_several
            """, to: "look for several agencies")[0].decode("has_several")
    }

    /// Checks that the catalogue has events of each agency in a report's arguments, because a name may be misspelt. The case of
    /// letters does not matter.
    ///
    /// - Throws: `Failure` if the catalogue has no events of one of these agencies; `PostgresError`.
    public func checkAgencies(_ arguments: [String: String], on connection: Connection) async throws {
        for parameter in parameters where parameter.isArgument && parameter.isAgency {
            guard let agency = arguments[parameter.name] else { continue }
            let isKnown: Bool = try await connection.query(
                """
                select exists (select from report.event where report.agency(network) = lower(\(agency) collate "C")) as is_known
                """, to: "look for an agency")[0].decode("is_known")
            if isKnown { continue }
            let known: [String] = try await connection.query(
                "select distinct report.agency(network) as agency from report.event order by 1",
                to: "list the agencies"
            ).map { try $0.decode("agency") }
            // The reports count the events of contributors to ComCat as the USGS's.
            if let contributor = Agency.named(agency.lowercased()), contributor.name != Agency.usgs.name,
                contributor.networks.allSatisfy({ Agency.name(ofNetwork: $0) == Agency.usgs.name })
            {
                throw Failure(
                    .noInput,
                    "reports count the events of the agency \(agency) as the USGS's: use usgs")
            }
            let others = known.isEmpty ? "nor of any other" : "only of \(known.joined(separator: ", "))"
            let meant = closestSpelling(of: agency, among: known).map { "; did you mean \($0)?" } ?? ""
            throw Failure(
                .noInput, "the catalogue has no events of the agency \(agency), \(others)\(meant)")
        }
    }
}

extension Report.Parameter {
    fileprivate var isAgency: Bool { name == "agency" || name.hasPrefix("agency_") }
}
