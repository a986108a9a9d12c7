import Feed
import Foundation
import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

/// A view in memory that reads each pass in two ways, row by row and line by line, and then compares its content with the table
/// in the same snapshot.
final class MemoryView: ReaderView {
    struct State: Sendable {
        var position: Position?
        var columns: [ViewColumn] = []
        /// The values of each row, by code.
        var rows: [String: [String]] = [:]
        /// `token.ordinal` of each change, in order of arrival.
        var changes: [String] = []
        var starts: [FreshStart] = []
        var passes = 0
    }

    private let state: Mutex<State>
    /// Called in the middle of each pass, while its snapshot is open.
    private let duringPass: @Sendable () async throws -> Void

    init(_ state: State = State(), duringPass: @escaping @Sendable () async throws -> Void = {}) {
        self.state = Mutex(state)
        self.duringPass = duringPass
    }

    var now: State { state.withLock { $0 } }

    func position() -> Position? { now.position }

    func accepts(_ table: TableShape) -> Bool { now.columns == table.columns }

    func apply(_ pass: Pass) async throws -> Position {
        var next = now
        next.columns = pass.table.columns
        next.passes += 1
        if let reason = pass.freshStart {
            next.starts.append(reason)
            next.rows = [:]
            next.changes = []
        }
        let before = next

        // All three ways of reading use one snapshot.
        var pass = pass
        pass.isHeld = true
        next = try await pass.connection.holdingCatalogue(to: "compare the ways") { [pass] in
            var next = before
            let position: Position
            (next.rows, position) = try await Self.rows(of: pass, onto: before.rows)
            try await duringPass()
            let (codes, changes) = try await Self.lines(of: pass, onto: Set(before.rows.keys))
            next.changes += changes

            var all = Pass(
                freshStart: .first, table: pass.table, position: nil, connection: pass.connection,
                logger: .quiet)
            all.isHeld = true
            let table = try await Self.rows(of: all, onto: [:]).rows
            #expect(next.rows == table, "token \(position.token)")
            #expect(codes == Set(table.keys), "token \(position.token)")
            next.position = position
            return next
        }
        state.withLock { [next] in $0 = next }
        return try #require(next.position)
    }

    private static func rows(
        of pass: Pass, onto rows: [String: [String]]
    ) async throws -> (rows: [String: [String]], position: Position) {
        let rows = Mutex(rows)
        let position = try await pass.forEachRow { row in
            let code = String(decoding: row.code, as: UTF8.self)
            let values = row.isGone ? nil : try pass.table.columns.map { try row.next($0.kind).text }
            rows.withLock { $0[code] = values }
        }
        return (rows.withLock { $0 }, position)
    }

    /// The codes that exist after all lines, and the `token.ordinal` of each change.
    private static func lines(
        of pass: Pass, onto codes: Set<String>
    ) async throws -> (codes: Set<String>, changes: [String]) {
        let found = Mutex((codes: codes, changes: [String]()))
        _ = try await pass.forEachLine { line in
            let object = try #require(
                JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            let row = object["row"] as? [String: Any]
            try found.withLock { found in
                if let code = row?["code"] as? String { found.codes.insert(code) }
                guard let token = object["token"], let ordinal = object["ordinal"] else { return }
                let key = try #require(object["key"] as? String)
                found.changes.append("\(token).\(ordinal)")
                if object["operation"] as? String == "delete", row == nil { found.codes.remove(key) }
            }
        }
        return found.withLock { $0 }
    }
}

extension ViewValue {
    fileprivate var text: String {
        switch self {
        case .null: "null"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .boolean(let value): "\(value)"
        case .time(let value): "\(value)"
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }
}

extension TestDatabase {
    /// Follows into `view` while `body` runs. After a lost connection, it reconnects with little delay.
    func following(
        _ view: some ReaderView, name: String? = nil, poll: PollInterval = PollInterval(),
        logger: Logger = .quiet, _ body: () async throws -> Void
    ) async throws {
        let follower = Follower(
            try options(), view: view, name: name, poll: poll,
            backoff: Backoff(from: .milliseconds(10), to: .milliseconds(100)), logger: logger)
        let running = Task { try await follower.run() }
        do {
            try await body()
        } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    /// Catches up once.
    @discardableResult
    func catchUp(_ view: some ReaderView, name: String? = nil, logger: Logger = .quiet) async throws
        -> Position
    {
        try await Follower(try options(), view: view, name: name, logger: logger).catchUp()
    }

    /// Sets the magnitude of every earthquake, in one transaction.
    func setMagnitude(_ magnitude: Double) async throws {
        try await query("update quake set magnitude = \(magnitude)")
    }

    /// Waits until the view has the database's current token.
    func waitForCatchUp(of view: MemoryView) async throws {
        let token: Int = try await query("select history.current_token() as token")[0].decode("token")
        try await waitUntil { view.now.position?.token == token }
    }
}
