import Association
import Feed
import PostgreSQL

/// Queries that show people how the events were grouped, and why.
public enum AssociationQueries {
    /// Whether the table `quake` has rows of more than one agency.
    ///
    /// The query stops at the first row of a second agency. If the table has rows of one agency only, the query reads all of
    /// them.
    public static func hasSeveralAgencies(on connection: Connection) async throws -> Bool {
        try await connection.query(
            """
            select exists (
                select from only public.quake
                where report.agency(net) <> (select report.agency(net) from only public.quake limit 1)) as are_several
            """, to: "look for a second agency")[0].decode("are_several")
    }

    /// How many earthquakes have several rows, and how many of those rows are doubtful.
    public static func counts(on connection: Connection) async throws -> (earthquakes: Int, doubtful: Int) {
        let row = try await connection.query(
            """
            select (select count(*) from only public.earthquake) as earthquakes,
                   (select count(*) from only public.earthquake_member where is_doubtful) as doubtful
            """, to: "count the earthquakes")[0]
        return (try row.decode("earthquakes"), try row.decode("doubtful"))
    }

    /// Explains why an event belongs to its earthquake. The explanation is computed from the current rows.
    ///
    /// - Throws: `Failure` if there is no such event; `PostgresError`.
    public static func explain(_ code: String, on connection: Connection) async throws -> Explanation {
        try await connection.holdingCatalogue(to: "explain an earthquake") {
            let state = try await AssociationState.read(on: connection)
            let association = Association(
                state.parameters, overrides: try await Overrides.all(on: connection))
            let exact = ExactText(code)
            guard let row = try await Neighbourhood.Request.codes([exact]).rows(on: connection).first else {
                throw Failure.unknownCodes([code], consequence: "there is nothing to explain")
            }
            // The neighbourhood of a change from the row to itself is exactly the row's component.
            var neighbourhood = Neighbourhood(association, [SolutionChange(before: row, after: row)])
            while let request = neighbourhood.request {
                neighbourhood.add(try await request.rows(on: connection), for: request)
            }
            guard let explanation = association.explain(exact, in: neighbourhood.rows) else {
                preconditionFailure("a row is in its own component")
            }
            return explanation
        }
    }

    /// A member of an earthquake that would fit another earthquake nearly as well.
    public struct Doubtful: Sendable {
        public let code: String
        public let earthquake: String
        public let partner: String
        public let difference: Difference
        public let place: String?
    }

    /// The doubtful members, ordered by origin time, the latest first.
    public static func doubtful(on connection: Connection) async throws -> [Doubtful] {
        try await connection.query(
            """
            select m.code, m.earthquake, m.partner, m.seconds, m.km, m.magnitudes, m.cost, q.place
            from public.earthquake_member m join only public.quake q on q.code = m.code
            where m.is_doubtful order by q.time desc, m.code
            """, to: "list the doubtful pairs"
        ).map { row in
            Doubtful(
                code: try row.decode("code"), earthquake: try row.decode("earthquake"),
                partner: try row.decode("partner"),
                difference: Difference(
                    seconds: try row.decode("seconds"), kilometres: try row.decode("km"),
                    magnitudes: try row.decodeIfPresent("magnitudes"), cost: try row.decode("cost")),
                place: try row.decodeIfPresent("place"))
        }
    }
}
