import Feed
import Foundation
import Logging
import PostgreSQL
import QuakeStore
import TestSupport

extension TestDatabase {
    /// The values of one column, by the code of the earthquake.
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
    /// Makes the server refuse rows that satisfy the condition, with this SQLSTATE. Class 22 stands for a data exception, such as
    /// a value out of range.
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
    /// The numbers of inserted, updated, unchanged, stale and rejected features, in a short form for comparisons.
    var figures: [Int] {
        [counts.inserted, counts.updated, counts.unchanged, counts.stale, counts.rejected]
    }
}

extension TestDatabase {
    /// Deletes all events and everything that is known about documents.
    func forgetAll() async throws {
        for table in ["quake", "import.settled", "import.withdrawn", "import.deleted"] {
            try await query("delete from \(unescaped: table)")
        }
    }
}

/// Runs `body` for the elements in order, on at most `workers` elements at a time.
func sideBySide<Element: Sendable>(
    _ workers: Int, _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, element) in elements.enumerated() {
            if index >= workers { try await group.next() }
            group.addTask { try await body(element) }
        }
        try await group.waitForAll()
    }
}

extension Array {
    /// All orders of the elements.
    var permutations: [[Element]] {
        if isEmpty { return [[]] }
        return indices.flatMap { index in
            var rest = self
            let element = rest.remove(at: index)
            return rest.permutations.map { [element] + $0 }
        }
    }
}

extension [String: String] {
    /// Describes each key that exists in only one of the two dictionaries, or whose values differ.
    func differences(from other: Self) -> [String] {
        Set(keys).union(other.keys).sorted().filter { self[$0] != other[$0] }
            .map { "\($0): \(self[$0] ?? "absent") instead of \(other[$0] ?? "absent")" }
    }
}
