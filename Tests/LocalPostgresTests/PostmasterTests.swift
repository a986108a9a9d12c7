import Testing

@testable import LocalPostgres

@Suite("The contents of postmaster.pid")
struct PostmasterTests {
    @Test(
        "The eighth line is the phase; without that line, the server is starting",
        arguments: [
            ("ready   \n", .ready), ("standby \n", .ready), ("stopping\n", .stopping),
            ("starting\n", .starting),
            ("", .starting),
        ] as [(String, Postmaster.Phase)])
    func phases(_ line: String, _ phase: Postmaster.Phase) {
        let file = "4711\n/q/data\n1700000000\n5432\n/q/run\n\n 123 456\n\(line)"
        let postmaster = Postmaster(file: file)
        #expect(postmaster?.pid == 4711)
        #expect(postmaster?.phase == phase)
    }

    @Test(
        "An incomplete file is not a server",
        arguments: ["", "4711", "4711\n/q/data", "x\ny\nz\n", "-1\n/q\n1\n"])
    func cutShort(_ file: String) {
        #expect(Postmaster(file: file) == nil)
    }
}
