import PostgreSQL

extension UnknownCodes {
    /// Checks that an earthquake is in the table, or was in it as far as history goes back.
    ///
    /// - Throws: `UnknownCodes` if it was never there.
    public static func check(_ code: String, on connection: Connection) async throws {
        let row = try await connection.query(
            """
            select exists (select from public.quake where code = \(code))
                or exists (select from history.change where entity = 'quake' and key = \(code)) as known
            """, to: "look for an earthquake")[0]
        guard try row.decode("known") else { throw UnknownCodes(codes: [code]) }
    }
}

extension Report {
    /// Checks that the earthquake that a report is about exists: a report about none would look as if nothing had happened.
    ///
    /// - Throws: `UnknownCodes` if the argument `mainshock` names no earthquake.
    public func checkMainshock(_ arguments: [String: String], on connection: Connection) async throws {
        guard isFunction, let code = arguments["mainshock"] else { return }
        let row = try await connection.query(
            "select exists (select from report.event where code = \(code)) as known",
            to: "look for the mainshock")[0]
        guard try row.decode("known") else { throw UnknownCodes(codes: [code]) }
    }
}
