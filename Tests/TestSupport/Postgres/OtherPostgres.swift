import Glibc

/// A version of PostgreSQL other than the tests' version, for testing upgrades.
public struct OtherPostgres: Sendable {
    public let major: Int
    /// The folder of this version's programs.
    public let folder: String

    /// PostgreSQL 18, or else 17, if it is installed or can be fetched; nil when neither is available, or when QUAKES_POSTGRES is
    /// set.
    public static let current: OtherPostgres? = {
        // When QUAKES_POSTGRES selects the tests' version, the tests of upgrades are skipped.
        guard getenv("QUAKES_POSTGRES") == nil else { return nil }
        return [18, 17].lazy.compactMap { major in
            fetched("postgres", "\(major)").map { OtherPostgres(major: major, folder: $0) }
        }.first
    }()

    public func programs(_ name: String) -> String { "\(folder)/\(name)" }
}
