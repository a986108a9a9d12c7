import Glibc

/// A version of PostgreSQL beside the one that the tests use, for upgrades.
public struct OtherPostgres: Sendable {
    public let major: Int
    /// The folder of its programs.
    public let folder: String

    /// A later one than the tests'; nil where it cannot be had.
    public static let current: OtherPostgres? = {
        // Tests of another version have nothing to upgrade from.
        guard getenv("QUAKES_POSTGRES") == nil else { return nil }
        return [18, 17].lazy.compactMap { major in
            fetched("postgres", "\(major)").map { OtherPostgres(major: major, folder: $0) }
        }.first
    }()

    public func programs(_ name: String) -> String { "\(folder)/\(name)" }
}
