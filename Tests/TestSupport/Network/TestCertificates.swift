import Foundation

/// A certificate authority and a server certificate that it has signed, made by openssl in a folder.
package struct TestCertificates {
    static let openssl = "/usr/bin/openssl"
    package static let canBeMade = FileManager.default.isExecutableFile(atPath: openssl)

    package let authority: String
    package let server: TestTLS

    /// - Parameter names: The server's names, in the form of openssl's subjectAltName.
    package init(in folder: URL, names: String = "IP:127.0.0.1,DNS:feed.example") throws {
        authority = folder.appending(path: "ca.pem").path
        try Self.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -days 2"
                + " -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem", in: folder)
        try Self.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -days 2"
                + " -addext subjectAltName=\(names) -addext basicConstraints=critical,CA:FALSE"
                + " -CA ca.pem -CAkey ca.key -keyout server.key -out server.pem", in: folder)
        server = try TestTLS(
            certificate: folder.appending(path: "server.pem").path,
            key: folder.appending(path: "server.key").path)
    }

    private static func openssl(_ arguments: String, in folder: URL) throws {
        let process = Process()
        process.executableURL = URL(filePath: openssl)
        process.arguments = arguments.split(separator: " ").map(String.init)
        process.currentDirectoryURL = folder
        let words = Pipe()
        process.standardError = words
        try process.run()
        let said = String(decoding: words.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failed(program: openssl, arguments: arguments, said: said)
        }
    }

    struct Failed: Error {
        let program, arguments, said: String
    }
}
