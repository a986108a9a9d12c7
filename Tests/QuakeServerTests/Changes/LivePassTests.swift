import Feed
import QuakeStore
import Testing

@testable import QuakeServer

@Suite("A live pass and its filters")
struct LivePassTests {
    private static let position = Position(
        store: "0f0e2d3c-0000-0000-0000-000000000000", token: 1, committedAt: "2026-11-25T00:00:00Z",
        nonce: "3f9a01c7")

    @Test("An address can have as many filters as it may have streams, without effect on other addresses")
    func limit() throws {
        let pass = LivePass(0, ChangeLines(), ChangedQuakes(), from: Self.position, to: Self.position)
        var asked: [String] = []
        func selected(_ name: String, by address: String?) throws -> String {
            let filter = ChangeFilter(key: ExactText(name), selection: QuakeSelection())
            let rateLimitKey = try address.map { try #require(ClientAddress($0)) }
            return "\(pass.selected(by: filter, for: rateLimitKey, limit: 3) { asked.append(name) })"
        }
        for number in 1...3 { #expect(try selected("a\(number)", by: "192.0.2.1") == "soon") }
        let size = pass.size
        for number in 4...1000 { #expect(try selected("a\(number)", by: "192.0.2.1") == "never") }
        #expect(pass.size == size)
        // A filter that was applied for one address is available to all.
        #expect(try selected("b1", by: "192.0.2.2") == "soon")
        #expect(try selected("b1", by: "192.0.2.1") == "soon")
        // Clients behind a proxy that names no addresses have no limit, because they may be many.
        for number in 1...10 { #expect(try selected("c\(number)", by: nil) == "soon") }
        #expect(asked == ["a1", "a2", "a3", "b1"] + (1...10).map { "c\($0)" })
    }

    @Test("If a pass was read without filters, filtered clients get its changes from the history")
    func withoutQuakes() throws {
        let pass = LivePass(0, ChangeLines(), nil, from: Self.position, to: Self.position)
        let filter = ChangeFilter(key: ExactText("a"), selection: QuakeSelection())
        let selected = pass.selected(by: filter, for: nil, limit: 3) { Issue.record("asked for") }
        #expect("\(selected)" == "never")
    }
}
