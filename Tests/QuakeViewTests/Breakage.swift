import GRDB
import PostgreSQL
import QuakeStore
import TestSupport

@testable import QuakeView

/// The ways in which a pass can end before its last row.
enum Breakage: String { case backendDies, serverFails, cancelled }

extension TestDatabase {
    /// Adds a column whose text comes from a function that can fail or hang.
    func addColumnThatCanBreak() async throws {
        try await withConnection { connection in
            try await connection.execute(
                script: """
                    create type fragile as (how text);
                    create function fragile_text(value fragile) returns text language plpgsql as $$
                    begin
                        if value.how = 'serverFails' then raise exception 'it broke'; end if;
                        if value.how in ('backendDies', 'cancelled') then perform pg_sleep(600); end if;
                        return value.how;
                    end $$;
                    create cast (fragile as text) with function fragile_text(fragile);
                    alter table quake add column fragile fragile
                    """, to: "add a column that can break")
        }
    }

    /// Breaks the table's last row, so that a pass has written other rows before it.
    func breakLastRow(_ breakage: Breakage) async throws {
        try await query(
            """
            update quake set fragile = row(\(breakage.rawValue))::fragile
            where ctid = (select max(ctid) from quake)
            """)
    }

    /// Waits until the pass reads the broken row, and then cancels the pass or kills its backend. `serverFails` needs no help.
    func help(
        _ breakage: Breakage, _ passing: Task<Position, any Error>
    ) async throws {
        let waiting = "from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
        if breakage == .serverFails { return }
        try await waitUntil { try await !query("select pid \(unescaped: waiting)").isEmpty }
        if breakage == .cancelled {
            passing.cancel()
        } else {
            try await query("select pg_terminate_backend(pid) \(unescaped: waiting)")
        }
    }
}

extension SQLiteView {
    func limitPages(to count: Int) async throws {
        try await queue.writeWithoutTransaction { try $0.execute(sql: "pragma max_page_count = \(count)") }
    }
}
