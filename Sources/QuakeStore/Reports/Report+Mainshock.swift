import Feed
import PostgreSQL

extension Report {
    /// Checks that a report's mainshock exists, and that the window of its aftershocks is known. Otherwise the report would look
    /// as if there had been no aftershocks.
    ///
    /// With the argument `merge`, the mainshock is the earthquake that the named event describes, with the earthquake's
    /// magnitude.
    ///
    /// - Throws: `Failure` if the argument `mainshock` names no earthquake, or if the window depends on the mainshock's magnitude
    ///   and the mainshock has none.
    public func checkMainshock(_ arguments: [String: String], on connection: Connection) async throws {
        guard isFunction, let code = arguments["mainshock"] else { return }
        let rows: [Row]
        do {
            let merge: Query = "\(arguments["merge"])::text::boolean"
            rows = try await connection.query(
                """
                select m.magnitude is null as is_unmeasured from report.counted(null, \(merge)) as m
                where m.event = (select report.counted_event(\(code), \(merge))) collate "C"
                """, to: "look for the mainshock")
        } catch let error as PostgresError where error.isRefusedValue {
            // The value of merge is not a Boolean. The report itself refuses it.
            return
        }
        guard let mainshock = rows.first else { throw Failure.unknownCodes([code]) }
        let missing = parameters.map(\.name).filter {
            ["radius_km", "days"].contains($0) && arguments[$0] == nil
        }
        if try mainshock.decode("is_unmeasured"), !missing.isEmpty {
            let needed = missing.map { "\($0)=VALUE" }.joined(separator: " and ")
            throw Failure(.usage, "\(code) has no magnitude: give \(needed)")
        }
    }
}
