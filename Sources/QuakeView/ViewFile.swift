import Feed
import GRDB
import Glibc
import QuakeStore

/// The file of a view, opened for reading. The file can be read while a process follows into it, and when the database is down.
public struct ViewFile: Sendable {
    private let path: String
    private let queue: DatabaseQueue

    /// - Throws: `Failure` if the file does not exist, cannot be read or is not a view, or another program keeps it locked.
    public init(_ path: String) throws {
        guard access(path, R_OK) == 0 else { throw Failure(cannot: "read", path, code: errno) }
        guard try SQLiteView.isView(at: path) else { throw Self.noSnapshot(path) }
        self.path = path
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
        } catch let error as DatabaseError {
            throw Failure(reading: path, error)
        }
    }

    /// Calls `body` with each selected earthquake, in the selection's order. All of them are from one state of the view, and the
    /// result is the position of that state. The selection's `asOf` and `deleted` are ignored, because a view has no history;
    /// `isReversed` and `offset` are ignored, too.
    ///
    /// - Throws: `Failure`, or the error of `body`.
    public func forEach(
        _ selection: QuakeSelection, _ body: (Quake) throws -> Void
    ) throws -> Position {
        do {
            return try queue.read { db in
                guard let position = try Position(db) else { throw Self.noSnapshot(path) }
                let cursor = try selection.rows(in: db)
                let isSelected = selection.filter
                var count = 0
                while selection.limit.map({ count < $0 }) ?? true, let row = try cursor.next() {
                    let quake = try Quake(row.value)
                    guard isSelected(quake) else { continue }
                    try body(quake)
                    count += 1
                }
                return position
            }
        } catch let error as DatabaseError {
            throw Failure(reading: path, error)
        } catch let error as MissingValue {
            throw Failure(.badData, "\(path): \(error)")
        }
    }

    private static func noSnapshot(_ path: String) -> Failure {
        Failure(.badData, "\(path): it holds no snapshot yet; run quakes follow --view")
    }
}

extension QuakeSelection {
    /// The rows that match the selected times and magnitudes, and the selected code if there is only one, in the selection's
    /// order. If the selection has only times and magnitudes, SQLite returns no more rows than its `limit`.
    fileprivate func rows(in db: Database) throws -> RowCursor {
        if let near {
            db.add(
                function: DatabaseFunction("distance_m", argumentCount: 2, pure: true) { values in
                    guard let latitude = Double.fromDatabaseValue(values[0]),
                        let longitude = Double.fromDatabaseValue(values[1])
                    else { return nil }
                    let distance = near.distance(toLatitude: latitude, longitude: longitude)
                    return (distance * 1000).rounded(.toNearestOrEven)
                })
        }
        var (conditions, arguments) = (["true"], [String: any DatabaseValueConvertible]())
        func choose(_ condition: String, _ name: String, _ value: (any DatabaseValueConvertible)?) {
            guard let value else { return }
            conditions.append("\(condition) :\(name)")
            arguments[name] = value
        }
        choose("time >=", "since", since.map(Self.text))
        choose("time <", "until", until.map(Self.text))
        choose("magnitude >=", "minimum", ranges[.magnitude]?.lowerBound)
        choose("magnitude <=", "maximum", ranges[.magnitude]?.upperBound)
        if let codes = values[.code], codes.count == 1 { choose("code =", "code", codes[0]) }
        // The other conditions are checked afterwards, row by row.
        let isAll =
            types == nil && place == nil && near == nil && box == nil && updatedAfter == nil
            && ranges.keys.allSatisfy { $0 == .magnitude } && values.isEmpty && contributors == nil
            && agency == nil
        return try Row.fetchCursor(
            db,
            sql: """
                select * from quake where \(conditions.joined(separator: " and "))
                order by \(orderExpression), code limit \(isAll ? limit ?? -1 : -1)
                """,
            arguments: StatementArguments(arguments))
    }

    /// The time as a text that sorts correctly among the times in the file, which are texts, too. The years in the file have four
    /// digits, because the constraint quake_times of the server's table requires that. A time before these years becomes an empty
    /// text, which sorts before all other texts. A time after these years becomes a colon, which sorts after all digits.
    private static func text(_ time: Instant) -> String {
        let text = time.description
        return text.utf8.count == 24 ? text : text.hasPrefix("-") ? "" : ":"
    }

    private var orderExpression: String {
        switch (order, near) {
        case (.time, _), (.distance, nil): "time desc"
        case (.magnitude, _): "magnitude desc nulls last"
        case (.distance, _?): "distance_m(latitude, longitude)"
        }
    }
}
