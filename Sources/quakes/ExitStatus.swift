import Alerts
import Association
import Feed
import Glibc
import LocalPostgres
import PostgreSQL
import QuakeServer
import QuakeStore
import QuakeView

/// The exit code of the process. Most of the codes come from sysexits.h.
struct ExitStatus {
    let rawValue: Int32

    static let usage: Int32 = 64
    static let badData: Int32 = 65
    static let noInput: Int32 = 66
    static let unavailable: Int32 = 69
    static let internalError: Int32 = 70
    static let fileFailure: Int32 = 74
    static let busy: Int32 = 75
    static let interrupted: Int32 = 130

    /// The exit code for an error. The argument parser has its own codes for its own errors.
    init(_ error: any Error) {
        switch error {
        case let error as FeedError: rawValue = Self.status(error)
        case is TooManyRejects, is BrakeHeld, is UnfitService, is ShortAnswer, is BrokenStream, is RulesError:
            rawValue = Self.badData
        case is PastError, is UnknownCodes, is UnknownAgency, is NotThere, is UnknownSource, is UnknownReader:
            rawValue = Self.noInput
        case let error as PostgresError: rawValue = Self.status(error)
        case is MigrationError, is LocalPostgresError, is NoSession, is TimedOut, is ListeningError,
            is NoPNG, is NoPostGIS:
            rawValue = Self.unavailable
        case is SourceBusy, is FollowedAlready, is ViewBusy, is AssociatorBusy,
            is NotifierBusy:
            rawValue = Self.busy
        case let error as ViewError: rawValue = error.isFailure ? Self.fileFailure : Self.badData
        case is UnreadableTokenFile, is Parameters.InvalidLine: rawValue = Self.badData
        case is TemporaryFileError: rawValue = Self.fileFailure
        case let error as FileError:
            rawValue = error.code == ENOENT && error.operation == "read" ? Self.noInput : Self.fileFailure
        case is NoDatabase, is BackfillDiffers, is UnmeasuredMainshock, is CitedAlready: rawValue = Self.usage
        default: rawValue = Self.internalError
        }
    }

    private static func status(_ error: FeedError) -> Int32 {
        switch error {
        case .brokenDocument, .brokenCompression: badData
        case .noInput: noInput
        case .unavailable: unavailable
        }
    }

    private static func status(_ error: PostgresError) -> Int32 {
        if error.isFullQueue { return unavailable }
        guard let state = error.sqlState else { return error.connectionLost ? unavailable : internalError }
        // The SQLSTATE classes and codes for these errors, in this order: connection, authorisation, unknown database, temporary
        // conflicts, resources, locks, operator intervention, the server's disk, permissions, read-only.
        let classes = ["08", "28", "3D", "40", "53", "55", "57", "58", "42501", "25006"]
        return classes.contains { state.hasPrefix($0) } ? unavailable : internalError
    }
}

/// The database has no object with the name or the number that the command names.
struct NotThere: Error, CustomStringConvertible {
    let description: String
}

/// Neither an option nor the environment names a database. A private cluster is not used either, because the process has no
/// terminal that could show the message about it.
struct NoDatabase: Error, CustomStringConvertible {
    var description: String {
        "no database was named: give --database URL or set DATABASE_URL, or use --local for a private cluster"
    }
}

struct TimedOut: Error, CustomStringConvertible {
    let limit: Duration

    var description: String { "the run took longer than --timeout \(limit.formatted)" }
}
