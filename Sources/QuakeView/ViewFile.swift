import Feed
import GRDB
import Glibc
import QuakeStore

/// The file of a view, opened for reading. It can be read while a process follows into it, and when the database is
/// down.
public struct ViewFile: Sendable {
    private let path: String
    private let queue: DatabaseQueue

    /// - Throws: `FileError` when there is no such file; `ViewError` when it is not a view.
    public init(_ path: String) throws {
        guard access(path, R_OK) == 0 else { throw FileError(operation: "read", path: path, code: errno) }
        guard try FileForm(at: path) == .view else { throw Self.noSnapshot(path) }
        self.path = path
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
        } catch let error as DatabaseError {
            throw ViewError(path: path, error)
        }
    }

    /// Calls `body` with each selected earthquake, newest first. All of them are as of one position, which is returned.
    ///
    /// - Throws: `ViewError`, or what `body` throws.
    public func forEach(
        _ selection: QuakeSelection, _ body: (Quake) throws -> Void
    ) throws -> Position {
        do {
            return try queue.read { db in
                guard let position = try Position(db) else { throw Self.noSnapshot(path) }
                // A time is its year followed by 20 bytes. As text, years are in order only from 0000 to 9999.
                let cursor = try Row.fetchCursor(
                    db,
                    sql: """
                        select * from quake
                        where (:since is null
                               or (cast(time as integer), substr(time, -20))
                                  >= (cast(:since as integer), substr(:since, -20)))
                          and (:magnitude is null or magnitude >= :magnitude)
                        order by cast(time as integer) desc, substr(time, -20) desc, code
                        """,
                    arguments: [
                        "since": selection.since?.description, "magnitude": selection.minimumMagnitude,
                    ])
                var count = 0
                while selection.limit.map({ count < $0 }) ?? true, let row = try cursor.next() {
                    let quake = try Quake(row.value)
                    if let near = selection.near, !near.contains(quake) { continue }
                    try body(quake)
                    count += 1
                }
                return position
            }
        } catch let error as DatabaseError {
            throw ViewError(path: path, error)
        }
    }

    private static func noSnapshot(_ path: String) -> ViewError {
        ViewError(
            path: path, isFailure: false, message: "it holds no snapshot yet; run quakes follow --view")
    }
}
