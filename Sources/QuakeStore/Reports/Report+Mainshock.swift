import PostgreSQL

extension Report {
    /// Checks that the earthquake that a report is about exists, and that the window of its aftershocks is known.
    /// Otherwise it would look as if nothing had followed.
    ///
    /// - Throws: `UnknownCodes` if the argument `mainshock` names no earthquake. `UnmeasuredMainshock` if the window has to
    ///   follow from its magnitude, and it has none.
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

/// The mainshock has no magnitude that tells how far from it, and for how long, to look for aftershocks.
public struct UnmeasuredMainshock: Error, Equatable, CustomStringConvertible {
    public let code: String
    /// The parameters that would tell instead.
    public let missing: [String]

    public var description: String {
        "\(code) has no magnitude: give \(missing.map { "\($0)=VALUE" }.joined(separator: " and "))"
    }
}
