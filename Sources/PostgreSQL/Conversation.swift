import CPostgreSQL
import Dispatch

// The exchange of messages with the server: send, flush, read results, cancel.
extension Connection {
    /// The open handle, ready for the next message.
    func open(_ operation: String) throws -> OpaquePointer {
        if let cancel = pendingCancel {
            pendingCancel = nil
            if cancel.wait(timeout: .now() + .seconds(5)) == .timedOut { close() }
        }
        guard let handle else {
            throw PostgresError(
                operation: operation, message: "the connection is closed", connectionLost: true)
        }
        if case .cancelling = patience { patience = .untilCancelled }
        return handle
    }

    func send(_ query: Query, _ operation: String, _ handle: OpaquePointer) throws {
        guard sendParameters(query, handle) == 1 else { throw lost(operation, handle) }
        try flush(operation, handle)
    }

    /// Hands each result of the running statement to `body`, and reads the conversation to its end even when
    /// the server or `body` fails, so that the connection is ready for the next statement.
    func readResults(
        _ operation: String, _ handle: OpaquePointer, _ body: (OpaquePointer) throws -> Void
    ) throws {
        var firstError: (any Error)?
        while let result = try nextResult(operation, handle) {
            defer { PQclear(result) }
            guard firstError == nil else { continue }
            do {
                switch PQresultStatus(result) {
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE: try body(result)
                case PGRES_EMPTY_QUERY: break
                default: throw failure(operation, result)
                }
            } catch {
                firstError = error
                if !(error is PostgresError) { cancelStatement(handle) }
            }
        }
        if let firstError { throw firstError }
    }

    func drain(_ operation: String, _ handle: OpaquePointer) throws {
        while let result = try nextResult(operation, handle) { PQclear(result) }
    }

    func nextResult(_ operation: String, _ handle: OpaquePointer) throws -> OpaquePointer? {
        while PQisBusy(handle) == 1 {
            if waitForSocket(PQsocket(handle), writable: false), PQconsumeInput(handle) == 0 {
                throw lost(operation, handle)
            }
            try watchPatience(operation, handle)
        }
        let result = PQgetResult(handle)
        // A statement that ended by itself before the cancellation reached it has ended well: what it did is
        // done, and the caller learns of the cancellation at its next step.
        if case .cancelling = patience, let result, isFailure(result) {
            PQclear(result)
            while let rest = try nextResult(operation, handle) { PQclear(rest) }
            throw CancellationError()
        }
        return result
    }

    func flush(_ operation: String, _ handle: OpaquePointer) throws {
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1:
                // Input has to be read, too: a server whose notices find no reader stops reading.
                if waitForSocket(PQsocket(handle), writable: true, orReadable: true),
                    PQconsumeInput(handle) == 0
                {
                    throw lost(operation, handle)
                }
                try watchPatience(operation, handle)
            default: throw lost(operation, handle)
            }
        }
    }

    /// Asks the server to cancel once the task is cancelled, and gives the connection up when there is no answer
    /// within 5 s.
    func watchPatience(_ operation: String, _ handle: OpaquePointer) throws {
        switch patience {
        case .untilCancelled:
            guard Task.isCancelled else { return }
            patience = .cancelling(until: .now + .seconds(5))
            cancelStatement(handle)
        case .cancelling(let limit):
            guard ContinuousClock.now < limit else {
                close()
                throw CancellationError()
            }
        case .cleanup(let limit):
            guard ContinuousClock.now < limit else {
                close()
                throw PostgresError(
                    operation: operation, message: "no answer from the server", connectionLost: true)
            }
        }
    }

    /// Asks the server, over a connection of its own, to cancel the running statement. That connection can hang
    /// as well as this one, so it is made in the background.
    func cancelStatement(_ handle: OpaquePointer) {
        guard let pointer = PQgetCancel(handle) else { return }
        nonisolated(unsafe) let cancel = pointer
        let sent = DispatchGroup()
        DispatchQueue.global().async(group: sent) { [notices] in
            var reason = [CChar](repeating: 0, count: 256)
            if PQcancel(cancel, &reason, Int32(reason.count)) == 0 {
                notices.logger.warning("cannot cancel a statement: \(oneLine(reason))")
            }
            PQfreeCancel(cancel)
        }
        pendingCancel = sent
    }

    func lost(_ operation: String, _ handle: OpaquePointer) -> PostgresError {
        let message = oneLine(PQerrorMessage(handle))
        guard PQstatus(handle) == CONNECTION_BAD else {
            return PostgresError(operation: operation, message: message)
        }
        close()
        return PostgresError(operation: operation, message: message, connectionLost: true)
    }

    func failure(_ operation: String, _ result: OpaquePointer) -> PostgresError {
        guard let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))) else {
            // libpq's own report, such as "server closed the connection unexpectedly".
            var error = PostgresError(operation: operation, message: oneLine(PQresultErrorMessage(result)))
            if let handle, PQstatus(handle) == CONNECTION_BAD {
                close()
                error.connectionLost = true
            }
            return error
        }
        let sqlState = String(cString: state)
        var message = oneLine(PQresultErrorField(result, Int32(UInt8(ascii: "M"))))
        if sqlState.hasPrefix("22"), let quote = message.firstRange(of: ": \"") {
            // "invalid input syntax for type integer: "…"" quotes the value.
            message = String(message[..<quote.lowerBound])
        }
        let fatal = ["57P01", "57P02", "57P03"].contains(sqlState)
        return PostgresError(
            operation: operation, sqlState: sqlState, message: message, connectionLost: fatal)
    }
}
