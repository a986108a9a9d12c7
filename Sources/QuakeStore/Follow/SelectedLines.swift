import PostgreSQL

extension QuakeSelection {
    /// Each selected row as `{"row":{…}}`: what follows a SELECT.
    var rowLines: Query {
        "row_to_json(line)::text from (select to_jsonb(quake) as row \(source("only public.quake"))) as line"
    }
}
