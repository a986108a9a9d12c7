import Feed
import Foundation
import GRDB

extension Row {
    /// - Throws: `DatabaseError` when the column is missing, or contains an unexpected value.
    func value(of property: Property) throws -> Quake.Value {
        let column = property.column
        guard hasColumn(column) else { throw Self.unreadable(column) }
        guard let stored: DatabaseValue = self[column], !stored.isNull else { return .null }
        func decode<Value: DatabaseValueConvertible>(_ type: Value.Type = Value.self) throws -> Value {
            guard let value = Value.fromDatabaseValue(stored) else { throw Self.unreadable(column) }
            return value
        }
        switch property.kind {
        case .text: return .text(try decode())
        case .number: return .number(try decode())
        case .integer: return .integer(try decode())
        case .flag: return .flag(try decode())
        case .time:
            guard let time = Instant(try decode(String.self)) else { throw Self.unreadable(column) }
            return .time(time)
        case .list: return .list(try Self.list(decode(), column))
        case .json: return .json(try decode())
        }
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
            message: "column \(column) of table quake is missing, or contains an unexpected value")
    }
}
