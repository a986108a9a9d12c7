import Foundation
import Logging
import PostgreSQL
import TestSupport
import Testing

@Suite("PostgreSQL over TLS", .enabled(if: TestCertificates.canBeMade))
struct TLSRecordTests {
    /// PostgreSQL's own records have at most 8 KiB, but those of a proxy or a pooler have up to 16. After a partial message, libpq
    /// then reads only a part of the next record, and the poll no longer reports the rest.
    @Test(
        "An answer whose end is in the same large record as its rows arrives", arguments: [2000, 6000, 8000])
    func largeRecord(first: Int) async throws {
        try await withFolder { folder in
            let certificates = try TestCertificates(in: folder)
            let socket = try LoopbackSocket.bound()
            defer { socket.shutDown() }
            socket.accepting { client in Self.serve(client, certificates.server, first) }
            let options = try ConnectionOptions(
                "host=127.0.0.1 port=\(socket.port) sslmode=require user=sam dbname=quakes")

            let rows = try await Connection.with(options, logger: Logger(label: "test")) {
                try await $0.query("select text", to: "read two rows")
            }

            #expect(try rows.map { try $0.decode("text", as: String.self).count } == [9000, 9000])
        }
    }

    /// Answers each query with two rows of 9,000 characters, in two records.
    private static func serve(_ client: LoopbackSocket, _ tls: TestTLS, _ first: Int) {
        guard let plain = TestConnection(client, nil), plain.read(8) != nil else { return client.close() }
        plain.write(Array("S".utf8))
        guard let connection = TestConnection(client, tls), let length = connection.read(4) else {
            return client.close()
        }
        defer { connection.close() }
        _ = connection.read(number(length) - 4)
        let parameters = [
            ("client_encoding", "UTF8"), ("server_version", "15.0"), ("standard_conforming_strings", "on"),
        ]
        .flatMap { message("S", $0.utf8 + [0] + $1.utf8 + [0]) }
        connection.write(message("R", bytes(0, 4)) + parameters + ready)
        while let kind = connection.read(1), let length = connection.read(4) {
            _ = connection.read(number(length) - 4)
            switch kind {
            case Array("Q".utf8): connection.write(message("C", Array("SET".utf8) + [0]) + ready)
            case Array("S".utf8):
                let answer =
                    message("1") + message("2") + description + row + row
                    + message("C", Array("SELECT 2".utf8) + [0]) + ready
                connection.write(Array(answer.prefix(first)))
                connection.write(Array(answer.dropFirst(first).prefix(16_384)))
                connection.write(Array(answer.dropFirst(first + 16_384)))
            default: break
            }
        }
    }

    private static let ready = message("Z", Array("I".utf8))
    /// One column of the type text in the binary format.
    private static let description = message(
        "T",
        bytes(1, 2) + "text".utf8 + [0] + bytes(0, 4) + bytes(0, 2) + bytes(25, 4) + bytes(-1, 2)
            + bytes(-1, 4)
            + bytes(1, 2))
    private static let row = message(
        "D", bytes(1, 2) + bytes(9000, 4) + [UInt8](repeating: 0x78, count: 9000))

    private static func message(_ kind: String, _ content: [UInt8] = []) -> [UInt8] {
        Array(kind.utf8) + bytes(content.count + 4, 4) + content
    }

    private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func number(_ bytes: [UInt8]) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
