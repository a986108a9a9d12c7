import Feed
import PostgreSQL

/// A view with a geometry for programs that draw maps from a database with PostGIS, and notifications for QGIS.
///
/// The view is separate from `report.event`: in that view, the geometry would be the last column, and then a later migration
/// could not append columns.
public enum PostGIS {
    /// Creates the view `report.event_geometry`, and a trigger that notifies the channel `qgis` of each commit that changes
    /// earthquakes. Calling it again brings the view up to date.
    ///
    /// - Throws: `Failure` if the extension is not installed on the server, or only a superuser may create it; `PostgresError`.
    public static func establish(on connection: Connection) async throws {
        try await connection.write(to: "create the geometry") {
            try await connection.execute(script: Migrator.ownNames, to: "set the search path")
            try await connection.execute(script: Migrator.lock, to: "take the migration lock")
            let schema = try await extensionSchema(on: connection)
            try await Migrator(connection).becomeOwner()
            try await connection.execute(script: script(in: schema), to: "create report.event_geometry")
        }
    }

    /// The quoted name of the schema that has the functions of PostGIS. Creates the extension if it is installed on the server,
    /// but not in the database.
    private static func extensionSchema(on connection: Connection) async throws -> String {
        func known() async throws -> String? {
            try await connection.query(
                """
                select quote_ident(n.nspname) as schema
                from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'postgis'
                """, to: "look for PostGIS"
            ).first?.decode("schema")
        }
        if let schema = try await known() { return schema }
        let row = try await connection.query(
            """
            select exists (select from pg_available_extensions where name = 'postgis') as is_installed,
                   current_setting('server_version_num')::integer / 10000 as version,
                   (select rolsuper from pg_roles where rolname = current_user) as may_create
            """, to: "look for PostGIS")[0]
        guard try row.decode("is_installed") else {
            throw Failure.noPostGIS(version: try row.decode("version"))
        }
        guard try row.decode("may_create") else {
            throw Failure(
                .unavailable,
                """
                only a superuser may create the extension PostGIS; have a superuser run in this database: \
                create extension postgis
                """)
        }
        try await connection.execute(
            script: "create extension postgis schema public", to: "create the extension postgis")
        return try await known() ?? "public"
    }

    private static func script(in schema: String) -> String {
        """
        drop view if exists report.event_geometry;
        create view report.event_geometry as
        select event.*, \(schema).st_setsrid(\(schema).st_makepoint(event.longitude, event.latitude), 4326)
                        ::\(schema).geometry(Point, 4326) as geometry
        from report.event;
        comment on view report.event_geometry is
            'The catalogue as in report.event, with the epicentre as a geometry, for QGIS, GDAL and geopandas.';
        comment on column report.event_geometry.geometry is
            'The epicentre, in degrees of WGS 84 (EPSG 4326). The depth is in depth_km.';
        do $$
        declare
            grantee text;
        begin
            -- Roles that may read report.event may also read this view.
            for grantee in select distinct case g.grantee when 0 then 'public' else g.grantee::regrole::text end
                           from pg_class c, aclexplode(c.relacl) as g
                           where c.oid = 'report.event'::regclass and g.privilege_type = 'SELECT' and g.grantee <> c.relowner
            loop
                execute format('grant select on report.event_geometry to %s', grantee);
            end loop;
        end
        $$;

        create or replace function report.notify_qgis() returns trigger
        language plpgsql security definer
        set search_path = pg_catalog, pg_temp
        as $f$
        begin
            if exists (select from added where entity = 'quake') then
                perform pg_notify('qgis', 'quake');
            end if;
            return null;
        end
        $f$;
        comment on function report.notify_qgis() is
            'Private: notifies the channel that QGIS listens to, once for each transaction that changes earthquakes.';
        revoke execute on function report.notify_qgis() from public;
        drop trigger if exists change_qgis on history.change;
        create trigger change_qgis after insert on history.change referencing new table as added
            for each statement execute function report.notify_qgis();
        """
    }
}

extension Failure {
    /// - Parameter version: the server's major version.
    static func noPostGIS(version: Int) -> Failure {
        Failure(
            .unavailable,
            """
            PostGIS is not installed on the database's server; \
            on Debian: apt install postgresql-\(version)-postgis-3
            """)
    }
}
