import Feed
import Foundation
import Logging
import PostgreSQL
import QuakeStore
import TestSupport

extension TestDatabase {
    /// One column of every earthquake, by code.
    func column(_ name: String) async throws -> [String: String?] {
        let rows = try await query("select code, \(unescaped: name)::text as value from quake")
        return try Dictionary(
            uniqueKeysWithValues: rows.map { try ($0.decode("code"), $0.decodeIfPresent("value")) })
    }

    func count(_ table: String) async throws -> Int {
        try await query("select count(*) as count from \(unescaped: table)")[0].decode("count")
    }
}

extension TestDatabase {
    /// Makes the server refuse rows; an error of class 22 is that of a value out of range.
    func refusing(_ condition: String, sqlState: String) async throws {
        try await withConnection { connection in
            try await connection.execute(
                script: """
                    create function refuse() returns trigger language plpgsql as $$
                    begin
                        if \(condition) then raise exception 'refused' using errcode = '\(sqlState)'; end if;
                        return new;
                    end $$;
                    create trigger refuse before insert on quake for each row execute function refuse();
                    """, to: "prepare the test")
        }
    }
}

extension ImportSummary {
    /// inserted, updated, unchanged, stale, rejected: short enough to compare.
    var figures: [Int] {
        [counts.inserted, counts.updated, counts.unchanged, counts.stale, counts.rejected]
    }
}
