import Testing

@testable import LocalPostgres

@Suite("The contents of postmaster.pid")
struct PostmasterTests {
    @Test(
        "The eighth line says whether the server is ready; without that line, the server is not ready",
        arguments: [
            ("ready   \n", true), ("standby \n", true), ("stopping\n", false),
            ("starting\n", false),
            ("", false),
        ] as [(String, Bool)])
    func readiness(_ line: String, _ isReady: Bool) {
        let file = "4711\n/q/data\n1700000000\n5432\n/q/run\n\n 123 456\n\(line)"
        let postmaster = Postmaster(file: file)
        #expect(postmaster?.pid == 4711)
        #expect(postmaster?.isReady == isReady)
    }

    @Test(
        "An incomplete file is ignored",
        arguments: ["", "4711", "4711\n/q/data", "x\ny\nz\n", "-1\n/q\n1\n"])
    func cutShort(_ file: String) {
        #expect(Postmaster(file: file) == nil)
    }
}
