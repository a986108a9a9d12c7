import Testing

@testable import quakes

@Suite("Capabilities of terminals")
struct TerminalTests {
    @Test("A pipe, TERM=dumb and NO_COLOR have neither colours nor links; a pipe also has no width")
    func plain() {
        #expect(terminal(["TERM": "xterm-256color", "COLUMNS": "70"], isTerminal: false) == .none)
        for variables in [["TERM": "dumb"], [:], ["TERM": "xterm-256color", "NO_COLOR": "1"]] {
            #expect(terminal(variables) == Terminal(width: 100))
        }
    }

    @Test("Terminals that would print parts of links get no links")
    func links() {
        #expect(terminal(["TERM": "xterm-256color"]) == Terminal(width: 100, hasStyles: true, hasLinks: true))
        for variables in [
            ["TERM": "linux"], ["TERM": "eterm-color"], ["TERM": "xterm", "VTE_VERSION": "4803"],
        ] {
            #expect(terminal(variables) == Terminal(width: 100, hasStyles: true))
        }
        #expect(terminal(["TERM": "xterm", "VTE_VERSION": "7006"]).hasLinks)
    }

    @Test("The width comes from COLUMNS, else from the terminal, else it is 80")
    func width() {
        #expect(terminal(["COLUMNS": "70"]).width == 70)
        #expect(terminal(["COLUMNS": "0"]).width == 100)
        #expect(Terminal(isTerminal: true, measured: nil, environment([:])).width == 80)
    }

    @Test(
        "A URL that is not http, or could end its escape sequence, is not a link",
        arguments: [
            nil, "", "example.org", "javascript:alert(1)", "file:///etc/passwd", "https://", "https:///x",
            "https://example.org/\u{1B}\\", "https://example.org/\u{7}", "https://example.org/a b",
            "https://example.org/\n", "https://example.org/é", "https://example.org/\u{9C}",
            "https://example.org/" + String(repeating: "x", count: 2000),
        ])
    func noLink(url: String?) {
        #expect(TextLink(url) == nil)
    }

    @Test(
        "An http URL is a link",
        arguments: [
            "https://earthquake.usgs.gov/earthquakes/eventpage/us7000abcd", "HTTP://example.org",
            "http://[::1]/",
        ])
    func link(url: String) {
        #expect(TextLink(url)?.applied(to: "x") == "\u{1B}]8;;\(url)\u{1B}\\x\u{1B}]8;;\u{1B}\\")
    }

    @Test("Magnitudes are graded at 2.5, 4.5, 6 and 7, and alerts have their own colours")
    func styles() {
        let magnitudes: [(Double?, TextStyle?)] = [
            (nil, nil), (-1, .dim), (2.49, .dim), (2.5, nil), (4.49, nil), (4.5, .yellow), (5.99, .yellow),
            (6, .red), (6.99, .red), (7, .boldRed), (9.5, .boldRed),
        ]
        for (magnitude, style) in magnitudes { #expect(TextStyle(magnitude: magnitude) == style) }
        #expect(
            ["green", "yellow", "orange", "red"].map { TextStyle(alert: $0) } == [
                .green, .yellow, .orange, .boldRed,
            ])
        #expect(TextStyle(alert: "\u{1B}[31m") == nil && TextStyle(alert: nil) == nil)
    }

    private func terminal(_ variables: [String: String], isTerminal: Bool = true) -> Terminal {
        Terminal(isTerminal: isTerminal, measured: 100, environment(variables))
    }

    private func environment(_ variables: [String: String]) -> Environment {
        Environment(variables: variables, isTerminal: true)
    }
}
