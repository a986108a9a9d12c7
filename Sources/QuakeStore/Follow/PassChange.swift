import Feed
import PostgreSQL

/// One change of a pass, with the values that selections depend on. The bytes of `line` are valid only until the closure that
/// received the change returns.
public struct PassChange {
    public let line: UnsafeRawBufferPointer
    public let key: String
    public let isInsert: Bool
    /// The event as it is in the pass's snapshot. It is nil if the event has a later change in the pass, or was deleted.
    public let row: Quake?
    public let before: [(property: Property, value: Quake.Value)]

    init(_ row: inout Row) throws {
        guard let line = try row.nextBytes(), let key = try row.nextBytes(), let isInsert = try row.nextBool()
        else { throw RowError.other }
        (self.line, self.key, self.isInsert) = (line, String(decoding: key, as: UTF8.self), isInsert)
        if try row.nextBool() == true {
            let values = try Self.properties.map { try Quake.Value($0.kind, &row) }
            self.row = try Quake { Self.places[$0].map { values[$0] } ?? .text("") }
        } else {
            try row.skip(Self.properties.count)
            self.row = nil
        }
        guard let names = try row.nextTexts() else {
            before = []
            return
        }
        let overwritten = Set(names)
        before = try Self.properties.compactMap { property in
            let value = try Quake.Value(property.kind, &row)
            return overwritten.contains(property.column) ? (property, value) : nil
        }
    }

    /// The properties that selections of `quakes serve` depend on.
    static let properties: [Property] = [
        .code, .net, .magnitude, .magnitudeType, .place, .status, .alert, .type, .time, .updated, .felt, .sig,
        .cdi, .mmi,
        .gap, .ids, .sources, .types, .longitude, .latitude, .depth,
    ]
    private static let places = Dictionary(
        uniqueKeysWithValues: properties.enumerated().map { ($1, $0) })

    static let width = 5 + 2 * properties.count

    /// The text after SELECT for the columns that `init` reads. Each row is looked up by its key. The overwritten values of
    /// `properties` become a record, so that `init` need not parse JSON. The overwritten values of other columns stay in JSON,
    /// because the types of these columns may have changed since.
    static func query(after token: Int, namesAuthors: Bool) -> Query {
        """
        \(Pass.line("change", of: "quake.code")), change.key, change.operation = 'insert', quake.code is not null,
        \(unescaped: properties.list("quake.")),
        case when change.before is not null then array(select jsonb_object_keys(change.before)) end,
        \(unescaped: properties.list("before."))
        from \(Pass.changesWithEarthquakes(after: token, namesAuthors: namesAuthors)) as change
        left join lateral (
            select * from only public.quake where change."row" is not null and quake.code = change.key offset 0
        ) as quake on true
        left join lateral jsonb_to_record(change.before) as before (\(unescaped: properties.declarations))
            on change.before is not null
        """
    }
}
