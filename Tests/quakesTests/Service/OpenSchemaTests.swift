import Foundation
import QuakeStore
import TestSupport
import Testing

/// In databases made before PostgreSQL 15, any role can create functions in the schema `public`. PostgreSQL prefers such a
/// function to a built-in one with the same name if its parameter types match the arguments more exactly.
@Suite("A schema in which every role can create functions")
struct OpenSchemaTests {
    let server = TestServer.shared

    /// Each of these functions raises an error that says that it was called.
    private static let strangers = """
        grant create on schema public to public;
        create function public.called() returns text language plpgsql as $$ begin raise 'called by %', current_user; end $$;
        create function public.format(text, name) returns text language sql return public.called();
        create function public.format(text, text) returns text language sql return public.called();
        create function public.format(text, text, text) returns text language sql return public.called();
        create function public.format(text, text, text, text) returns text language sql return public.called();
        create function public.format(text, oid) returns text language sql return public.called();
        create function public.format(text, text, regclass) returns text language sql return public.called();
        create function public.concat_ws(text, text, text) returns text language sql return public.called();
        create function public.called(text, bigint) returns text language sql return public.called();
        create operator public.|| (leftarg = text, rightarg = bigint, function = public.called);
        create function public.cardinality(text[]) returns integer language sql return public.called()::integer;
        create function public.array_position(text[], text) returns integer language sql return public.called()::integer;
        create function public.unnest(text[]) returns setof text language plpgsql as $$ begin perform public.called(); end $$;
        create function public.nextof(bigint, text) returns bigint language sql return public.called()::bigint;
        create aggregate public.count(text) (sfunc = public.nextof, stype = bigint);
        """

    @Test("migrate uses no function in public that hides a built-in one, and says how to close the schema")
    func migrating() async throws {
        try await server.withEmptyDatabase { database in
            try await database.execute(Self.strangers)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let prefix = "t\(UUID().uuidString.lowercased().prefix(8))_"
            let roles = try Roles(prefix: prefix)

            let migrated = try await quakes.run("migrate", "--roles", "--role-prefix", prefix)

            #expect(migrated.status == 0, "\(migrated.errors)")
            #expect(migrated.errors.contains("revoke create on schema public from public"))
            let kept = try await database.query(
                """
                select d.objid from pg_depend d join pg_proc p on d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
                where p.pronamespace = 'public'::regnamespace and d.classid <> 'pg_operator'::regclass
                  and not (d.classid = 'pg_proc'::regclass
                           and exists (select from pg_proc own where own.oid = d.objid and own.pronamespace = p.pronamespace))
                """)
            #expect(kept.isEmpty)
            try await database.execute("revoke create on schema public from public")
            let closed = try await quakes.run("migrate")
            #expect(closed.errors == "")
            try await database.execute(
                Roles.Purpose.allCases.map {
                    "drop owned by \(roles.name($0)) cascade; drop role \(roles.name($0))"
                }
                .joined(separator: ";"))
        }
    }

    @Test("Commands call no function in public that hides a built-in one")
    func working() async throws {
        try await server.withDatabase { database in
            try await database.execute(Self.strangers)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let feature = SmallFeed.feature("a", updated: 5)
            let stream = """
                {"snapshot":"no position"}
                {"row":{"code":"q0b","net":"q0","net_code":"b","time":"2020-01-01T00:00:00Z","updated":"2020-01-01T00:00:00Z",\
                "longitude":1,"latitude":2}}
                {"store":"0e2d3c00-0000-0000-0000-000000000000","token":7,"committed_at":"2026-11-21T09:00:00.123456Z",\
                "nonce":"3f9a01c7"}

                """
            let answers: @Sendable (TestRequest) -> TestFeedServer.Answer = { request in
                if request.uri.hasPrefix("/changes") { return .whole(.ok, Array(stream.utf8)) }
                let name = request.uri.contains("all_day") ? "all_day" : "all_hour"
                return .whole(
                    .ok,
                    Array(
                        """
                        {"type":"FeatureCollection","metadata":{"generated":1600000000000,\
                        "url":"http://x.example/summary/\(name).geojson"},"features":[\(feature)]}
                        """.utf8))
            }
            try await TestFeedServer.run(answering: answers) { http in
                for arguments in [
                    ["import", http.url("/all_day"), "--retract", "force"],
                    ["import", http.url("/all_hour"), "--retract", "force"],
                    ["import", http.url("/changes"), "--retract", "force"], ["import", "-"], ["list"],
                    ["changes"], ["list", "--as-of", "1"],
                    ["status"], ["report", "daily_activity"], ["report", "coverage"], ["rejects"],
                    ["delete", "q0b"], ["prune", "--keep", "1s"], ["forget", http.url("/all_day")],
                ] {
                    let outcome = try await quakes.run(arguments, input: SmallFeed.document([feature]))
                    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
                    #expect(!outcome.errors.contains("called by"), "\(arguments): \(outcome.errors)")
                }
            }
        }
    }
}
