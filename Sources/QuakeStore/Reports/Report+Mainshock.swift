import PostgreSQL

extension Report {
    /// Checks that a report's mainshock exists, and that the window of its aftershocks is known. Otherwise the report would look
    /// as if there had been no aftershocks.
    ///
    /// - Throws: `UnknownCodes` if the argument `mainshock` names no earthquake. `UnmeasuredMainshock` if the window depends on
    ///   the mainshock's magnitude, and the mainshock has none.
    public func checkMainshock(_ arguments: [String: String], on connection: Connection) async throws {
        guard isFunction, let code = arguments["mainshock"] else { return }
        let rows = try await connection.query(
            "select magnitude is null as is_unmeasured from report.event where code = \(code)",
            to: "look for the mainshock")
        guard let mainshock = rows.first else { throw UnknownCodes(codes: [code]) }
        let missing = parameters.map(\.name).filter {
            ["radius_km", "days"].contains($0) && arguments[$0] == nil
        }
        if try mainshock.decode("is_unmeasured"), !missing.isEmpty {
            throw UnmeasuredMainshock(code: code, missing: missing)
        }
    }
}

/// The mainshock has no magnitude, so the radius and the duration of the search for aftershocks are unknown.
public struct UnmeasuredMainshock: Error, Equatable, CustomStringConvertible {
    public let code: String
    /// The parameters that have to be given instead.
    public let missing: [String]

    public var description: String {
        "\(code) has no magnitude: give \(missing.map { "\($0)=VALUE" }.joined(separator: " and "))"
    }
}
