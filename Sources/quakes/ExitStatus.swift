import Feed
import LocalPostgres
import PostgreSQL
import QuakeStore

/// The exit code of the process. Most of the codes come from sysexits.h.
struct ExitStatus {
    let rawValue: Int32

    static let badData = Failure.Kind.badData.rawValue
    static let noInput = Failure.Kind.noInput.rawValue
    static let unavailable = Failure.Kind.unavailable.rawValue
    static let internalError: Int32 = 70
    static let fileFailure = Failure.Kind.file.rawValue
    static let busy = Failure.Kind.busy.rawValue
    static let interrupted: Int32 = 130

    /// The exit code for an error. The argument parser has its own codes for its own errors.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: rawValue = failure.kind.rawValue
        case let error as FeedError: rawValue = Self.status(error)
        case is BrakeHeld, is UnfitService, is ShortAnswer: rawValue = Self.badData
        case is PastError: rawValue = Self.noInput
        case let error as PostgresError: rawValue = Self.status(error)
        case is MigrationError, is LocalPostgresError, is NoSession: rawValue = Self.unavailable
        case is SourceBusy: rawValue = Self.busy
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
        // The SQLSTATEs of refused logins, unknown databases and missing privileges.
        let refusals = ["28", "3D", "42501"]
        let isUnavailable =
            error.isPassing || error.isFullQueue
            || refusals.contains { error.sqlState?.hasPrefix($0) ?? false }
        return isUnavailable ? unavailable : internalError
    }
}
