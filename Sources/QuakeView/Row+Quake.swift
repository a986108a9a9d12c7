import Feed
import Foundation
import GRDB

/// A row of a view's file.
extension Row {
    /// The value of a property.
    ///
    /// - Throws: `DatabaseError` when the column is missing, or holds something other than expected.
    func value(of property: Property) throws -> Quake.Value {
        let column = property.column
        guard hasColumn(column) else { throw Self.unreadable(column) }
        guard let stored: DatabaseValue = self[column], !stored.isNull else { return .null }
        let value: Quake.Value? =
            switch property.kind {
            case .text: String.fromDatabaseValue(stored).map { .text($0) }
            case .number: Double.fromDatabaseValue(stored).map { .number($0) }
            case .integer: Int32.fromDatabaseValue(stored).map { .integer($0) }
            case .flag: Bool.fromDatabaseValue(stored).map { .flag($0) }
            case .time: String.fromDatabaseValue(stored).flatMap { Instant($0) }.map { .time($0) }
            case .list: try String.fromDatabaseValue(stored).map { .list(try Self.list($0, column)) }
            case .json: String.fromDatabaseValue(stored).map { .json($0) }
            }
        guard let value else { throw Self.unreadable(column) }
        return value
    }

    private static func list(_ text: String, _ column: String) throws -> [String] {
        do {
            return try JSONDecoder().decode([String].self, from: Data(text.utf8))
        } catch {
            throw unreadable(column)
        }
    }

    private static func unreadable(_ column: String) -> DatabaseError {
        DatabaseError(
            message: "column \(column) of table quake is missing, or holds something other than expected")
    }
}
