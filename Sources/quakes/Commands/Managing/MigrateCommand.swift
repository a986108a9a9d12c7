import ArgumentParser
import PostgreSQL
import QuakeStore

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database's schema up to this version.",
        discussion: """
            Each migration is one transaction. If several processes migrate at once, the work is done only once.

            --roles creates five roles that can't log in, and grants each only the privileges that it needs. Use --roles again \
            after an update that adds tables; this is always safe. Then grant each login its roles:

                grant quakes_writer to importer;         imports and deletes
                grant quakes_writer, quakes_reader
                    to associator;                       a daemon, which also associates
                grant quakes_reader to follower;         lists, follows, reads the history
                grant quakes_notifier to notifier;       sends messages, and records them
                grant quakes_report to grafana;          reads the schema report
                grant quakes_owner to administrator;     migrates, prunes and forgets

            PUBLIC loses access to the database. Nothing else changes for the database's other users.

            --postgis creates the view report.event_geometry, for QGIS, GDAL and geopandas. From then on, changes notify the \
            channel qgis. PostGIS has to be installed on the server. Using --postgis again is safe, too.
            """)

    @Flag(help: "Only list the missing migrations.")
    var dryRun = false

    @Flag(help: "Create the roles, and grant them their privileges.")
    var roles = false

    @Flag(help: "Create a view with geometries, for programs that draw maps; needs PostGIS.")
    var postgis = false

    @Option(
        help: ArgumentHelp(
            "The prefix of the role names; roles belong to the whole server.", valueName: "prefix"))
    var rolePrefix = Roles.standardPrefix

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        if roles, dryRun { throw ValidationError("--roles cannot be used with --dry-run") }
        if postgis, dryRun { throw ValidationError("--postgis cannot be used with --dry-run") }
        do {
            _ = try Roles(prefix: rolePrefix)
        } catch {
            throw ValidationError("--role-prefix: \(error)")
        }
    }

    func run() async throws {
        let database = try await database.located()
        try await database.namingGrants(for: .owner) {
            try await Connection.with(database.options, logger: database.logger, migrate)
        }
    }

    private func migrate(_ connection: Connection) async throws {
        let migrator = Migrator(connection)
        if dryRun {
            report(try await migrator.missing(), "to apply")
        } else {
            report(try await migrator.migrate(), "applied")
        }
        if postgis {
            try await PostGIS.establish(on: connection)
            StandardOutput.print("report.event_geometry is ready; QGIS can listen to the channel qgis")
        }
        if try await migrator.isPublicSchemaOpen() {
            StandardError.say(
                "warning: every login can create functions in the schema public, and other logins may run these by mistake; to prevent this, run as the owner of the schema: revoke create on schema public from public",
                level: .warning)
        }
        guard roles else { return }
        let roles = try Roles(prefix: rolePrefix)
        for name in try await roles.establish(on: connection) {
            StandardOutput.print("created: \(name)")
        }
        let names = Roles.Purpose.allCases.map(roles.name)
        StandardOutput.print("the roles have their privileges: \(names.joined(separator: ", "))")
    }

    private func report(_ titles: [String], _ what: String) {
        if titles.isEmpty { StandardOutput.print("the schema is current") }
        for title in titles { StandardOutput.print("\(what): \(title)") }
    }
}
