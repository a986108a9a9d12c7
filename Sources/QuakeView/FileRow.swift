import Feed
import Foundation
import GRDB
import QuakeStore

/// A row of a view's file.
struct FileRow: QuakeRow {
    let row: Row

    func text(_ column: String) throws -> String? { try decode(column) }
    func number(_ column: String) throws -> Double? { try decode(column) }
    func integer(_ column: String) throws -> Int32? { try decode(column) }
    func flag(_ column: String) throws -> Bool? { try decode(column) }

    func time(_ column: String) throws -> Instant? {
        try decode(column, as: String.self).map { text in
            guard let instant = Instant(text) else { throw unreadable(column) }
            return instant
        }
    }

    func list(_ column: String) throws -> [String]? {
        try decode(column, as: String.self).map { text in
            do {
                return try JSONDecoder().decode([String].self, from: Data(text.utf8))
            } catch {
                throw unreadable(column)
            }
        }
    }

    private func decode<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws -> Value? {
        guard row.hasColumn(column) else { throw unreadable(column) }
        guard let value: DatabaseValue = row[column], !value.isNull else { return nil }
        guard let decoded = Value.fromDatabaseValue(value) else { throw unreadable(column) }
        return decoded
    }

    private func unreadable(_ column: String) -> DatabaseError {
        DatabaseError(
            message: "column \(column) of table quake is missing, or holds something else than expected")
    }
}
