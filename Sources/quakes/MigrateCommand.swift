import ArgumentParser
import QuakeStore

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database's schema to this version.",
        discussion: "Each migration is one transaction; several migrators at once do the work once.")

    @Flag(help: "Only say what is missing.")
    var dryRun = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    func run() async throws {
        try await database.withUncheckedConnection(log.logger()) { connection in
            let migrator = Migrator(connection)
            let missing =
                switch try await migrator.state() {
                case .current: [] as [String]
                case .behind(let titles): titles
                case .ahead(let number): throw MigrationError.ahead(number)
                }
            if dryRun {
                report(missing, "to apply")
            } else {
                report(try await migrator.migrate(), "applied")
            }
        }
    }

    private func report(_ titles: [String], _ what: String) {
        if titles.isEmpty { StandardOutput.print("the schema is current") }
        for title in titles { StandardOutput.print("\(what): \(title)") }
    }
}
