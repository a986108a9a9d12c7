import Alerts
import Foundation
import TestSupport
import Testing

@testable import Delivery

/// A self-signed certificate for `localhost`.
struct TestCertificate {
    /// The path of a file with the certificate and its key.
    let path: String

    static let shared = Result { try TestCertificate() }

    private init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let (key, certificate) = (
            folder.appending(path: "key").path(), folder.appending(path: "certificate").path()
        )
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        path = folder.appending(path: "both").path()
        let both = try Data(contentsOf: URL(filePath: certificate)) + Data(contentsOf: URL(filePath: key))
        try both.write(to: URL(filePath: path))
    }
}

/// A message with these texts. Only rules can create a message, so this one is decoded from JSON.
func message(
    id: String = "me:us1:1-new", thread: String? = nil, title: String = "M 5.0 earthquake",
    text: String = "It shook.",
    url: String? = nil
) throws -> Message {
    var json: [String: Any] = [
        "id": id, "receiver": "me", "type": "earthquake.new", "at": "2026-11-26T12:00:00.000Z",
        "title": title,
        "text": text, "priority": 4, "thread": thread ?? id, "earthquakes": [Any](), "omitted": 0,
    ]
    json["url"] = url
    return try JSONDecoder().decode(Message.self, from: JSONSerialization.data(withJSONObject: json))
}

/// The failure of a delivery; nil if it succeeded.
func failure(of delivery: () async throws -> Void) async throws -> DeliveryFailure? {
    do {
        try await delivery()
        return nil
    } catch let failure as DeliveryFailure {
        return failure
    }
}
