import Testing

@testable import quakes

@Suite struct TableTests {
    @Test func at80ColumnsImportantColumnsAreShownAndALongPlaceIsShortened() {
        let expected = """
            TIME               MAG  TYPE  DEPTH  PLACE                            CODE
            2025-12-31 23:59   1.4  md     -0.7  12 km N of Saltmere, Aldra       q112
            2025-12-31 23:41   7.1  mww   412.0  99 km W of 新月港, Tōgen Islan…  q07000000j
            2025-12-31 23:12   4.8  mb     10.0  8 km E of Peña, Ámbar            q07000001h
            2025-12-31 22:58                     Port Ember 🌋                    q0253x
            2025-12-31 22:03  -0.3  ml      2.1  155 km SSE of the northernmost…  q474000004

            """
        #expect(quakes.render(width: 80) == expected)
    }

    @Test func at120ColumnsStatusFeltAndAlertAreShown() {
        let expected = """
            TIME               MAG  TYPE  DEPTH  PLACE                                           STATUS     FELT  ALERT   CODE
            2025-12-31 23:59   1.4  md     -0.7  12 km N of Saltmere, Aldra                      automatic                q112
            2025-12-31 23:41   7.1  mww   412.0  99 km W of 新月港, Tōgen Islands                reviewed   3120  orange  q07000000j
            2025-12-31 23:12   4.8  mb     10.0  8 km E of Peña, Ámbar                           reviewed     12  green   q07000001h
            2025-12-31 22:58                     Port Ember 🌋                                   automatic                q0253x
            2025-12-31 22:03  -0.3  ml      2.1  155 km SSE of the northernmost of the Brume I…  reviewed      0          q474000004

            """
        #expect(quakes.render(width: 120) == expected)
    }

    @Test func at200ColumnsEverythingIsShown() {
        let expected = """
            TIME               MAG  TYPE  DEPTH  PLACE                                                                  STATUS     FELT  ALERT   UPDATED           URL                                    CODE
            2025-12-31 23:59   1.4  md     -0.7  12 km N of Saltmere, Aldra                                             automatic                2026-01-01 00:04  https://example.org/quakes/q112        q112
            2025-12-31 23:41   7.1  mww   412.0  99 km W of 新月港, Tōgen Islands                                       reviewed   3120  orange  2026-01-01 00:09  https://example.org/quakes/q07000000j  q07000000j
            2025-12-31 23:12   4.8  mb     10.0  8 km E of Peña, Ámbar                                                  reviewed     12  green   2026-01-01 00:01  https://example.org/quakes/q07000001h  q07000001h
            2025-12-31 22:58                     Port Ember 🌋                                                          automatic                2025-12-31 23:10  https://example.org/quakes/q0253x      q0253x
            2025-12-31 22:03  -0.3  ml      2.1  155 km SSE of the northernmost of the Brume Islands/Îles de la Brume…  reviewed      0          2025-12-31 22:20  https://example.org/quakes/q474000004  q474000004

            """
        #expect(quakes.render(width: 200) == expected)
    }

    @Test func pipedOutputHasItsNaturalWidth() {
        #expect(quakes.render() == quakes.render(width: 1000))
        #expect(!quakes.render().contains("…"))
    }

    @Test(arguments: stride(from: 20, through: 220, by: 9).map { $0 })
    func linesFitAndHaveNoTrailingSpaces(width: Int) {
        for line in quakes.render(width: width).split(separator: "\n") {
            #expect(terminalWidth(of: String(line)) <= width, "\(line)")
            #expect(line.last != " ")
        }
    }

    @Test func theFirstScreenfulIsWrittenTogetherAndThenEachRowAtOnce() {
        var table = Table(columns: [TableColumn(title: "a"), TableColumn(title: "b")], at: .none)
        for row in 1..<Table.screenful { #expect(table.append(["\(row)", "x"]) == "") }
        let screenful = table.append(["wide", "x"])
        #expect(screenful.hasPrefix("A     B\n1     x\n2     x\n"))
        #expect(screenful.hasSuffix("wide  x\n"))
        #expect(table.append(["wider", "x"]) == "wider  x\n")
        #expect(table.append(["1", ""]) == "1\n")
        #expect(table.finish() == "")
    }

    @Test func aLaterWiderCellIsCutAtATerminalOnly() {
        let columns = [
            TableColumn(title: "n", alignment: .right), TableColumn(title: "place", flexible: true),
        ]
        func later(_ terminal: Terminal, _ cells: [String]) -> String {
            var table = Table(columns: columns, at: terminal)
            for _ in 0..<Table.screenful { _ = table.append(["1", "somewhere"]) }
            return table.append(cells)
        }
        #expect(later(.none, ["1", "somewhere else"]) == "1  somewhere else\n")
        #expect(later(Terminal(width: 80), ["1", "somewhere else"]) == "1  somewher…\n")
        // A number is never cut while a text can still be shortened.
        #expect(later(Terminal(width: 12), ["1234567", "somewhere"]) == "1234567  so…\n")
        #expect(later(Terminal(width: 80), ["1234567", "somewhere"]) == "1234567  somewhere\n")
    }

    @Test func withoutRowsOnlyTheHeaderIsShown() {
        #expect(
            Rows(columns: quakes.columns).render(width: 80)
                == "TIME  MAG  TYPE  DEPTH  PLACE                           STATUS  FELT  CODE\n")
        #expect(Rows(columns: []).render() == "\n")
    }

    @Test func aRowMayHaveEmptyCells() {
        var table = Rows(columns: [TableColumn(title: "a"), TableColumn(title: "b", alignment: .right)])
        table.append(["", ""])
        table.append(["1", ""])
        table.append(["", "22"])
        #expect(table.render() == "A   B\n\n1\n   22\n")
    }

    @Test func columnsAreDroppedFromTheHighestPriorityNumberAndFromTheRight() {
        let titles = [("first", 2), ("second", 1), ("third", 2), ("always", 0)]
        var table = Rows(columns: titles.map { TableColumn(title: $0.0, priority: $0.1) })
        table.append(["1", "2", "3", "4"])
        func header(_ width: Int) -> Substring { table.render(width: width).prefix { $0 != "\n" } }
        #expect(header(28) == "FIRST  SECOND  THIRD  ALWAYS")
        #expect(header(27) == "FIRST  SECOND  ALWAYS")
        #expect(header(20) == "SECOND  ALWAYS")
        #expect(header(13) == "ALWAYS")
        #expect(header(5) == "ALWA…")
    }

    @Test func anEmptyColumnIsDroppedBeforeATextIsShortened() {
        var table = Rows(columns: [
            TableColumn(title: "type", priority: 1),
            TableColumn(title: "place", minimumWidth: 5, flexible: true),
            TableColumn(title: "felt", priority: 2),
        ])
        table.append(["", "a long place", "7"])
        #expect(table.render(width: 24) == "TYPE  PLACE         FELT\n      a long place  7\n")
        #expect(table.render(width: 23) == "PLACE         FELT\na long place  7\n")
        #expect(table.render(width: 15) == "PLACE      FELT\na long p…  7\n")
    }

    @Test func anAddressKeepsItsEndAndATextThatWrapsLosesNothing() {
        var table = Rows(columns: [
            TableColumn(title: "source", minimumWidth: 26, flexible: true, breaking: .middle),
            TableColumn(title: "change", minimumWidth: 20, flexible: true, breaking: .text),
        ])
        table.append([
            "https://example.org/earthquakes/feed/all_hour.geojson", "place 1 km N of A → 2 km N of Bbbbbbbb",
        ])
        table.append(["short", "updated"])
        #expect(
            table.render(width: 48) == """
                SOURCE                      CHANGE
                example.…/all_hour.geojson  place 1 km N of A →
                                            2 km N of Bbbbbbbb
                short                       updated

                """)
    }

    @Test func theWidestFlexibleColumnIsShortenedFirst() {
        var table = Rows(columns: [
            TableColumn(title: "a", flexible: true), TableColumn(title: "b", flexible: true),
        ])
        table.append(["a long one indeed", "short"])
        #expect(table.render(width: 18) == "A            B\na long one…  short\n")
        #expect(table.render(width: 9) == "A    B\na…   sho…\n")
    }

    @Test func aShortenedWideCharacterLeavesItsColumnAligned() {
        var table = Rows(columns: [
            TableColumn(title: "place", minimumWidth: 5, flexible: true), TableColumn(title: "code"),
        ])
        table.append(["新月港新月港", "a"])
        table.append(["x新月港", "b"])
        #expect(table.render(width: 12) == "PLACE   CODE\n新月…   a\nx新月…  b\n")
    }

    @Test func styleAndLinksChangeNoLayout() {
        var table = Rows(columns: [TableColumn(title: "a", alignment: .right), TableColumn(title: "b")])
        let link = TextLink("https://example.org/1")
        table.append([TableCell("1", style: .red), TableCell("2", link: link)])
        table.append([TableCell("333"), TableCell("", style: .red, link: link)])
        #expect(table.render(at: Terminal(width: 80)) == "  A  B\n  1  2\n333\n")
        #expect(
            table.render(at: Terminal(width: 80, hasStyles: true))
                == "  \u{1B}[2mA\u{1B}[0m  \u{1B}[2mB\u{1B}[0m\n  \u{1B}[31m1\u{1B}[0m  2\n333\n")
        #expect(
            table.render(at: Terminal(width: 80, hasLinks: true))
                == "  A  B\n  1  \u{1B}]8;;https://example.org/1\u{1B}\\2\u{1B}]8;;\u{1B}\\\n333\n")
    }

    @Test func aVeryLongTextWidensNoColumn() {
        let long = String(repeating: "x", count: 1 << 20)
        var table = Rows(columns: [TableColumn(title: "place", widest: 7), TableColumn(title: "code")])
        table.append([long, "a"])
        table.append(["five!", "c"])
        #expect(table.render() == "PLACE    CODE\n\(long)  a\nfive!    c\n")
        #expect(
            table.render(width: 80).split(separator: "\n").allSatisfy { terminalWidth(of: String($0)) <= 80 })
    }

    @Test func cellsCarryNoEscapeSequencesAndStayOnTheirLine() {
        var table = Rows(columns: [TableColumn(title: "place")])
        table.append(["\u{1B}[31mred\r\nnext"])
        #expect(table.render() == "PLACE\n\u{FFFD}[31mred\u{FFFD}\u{FFFD}next\n")
    }
}

@Suite struct TerminalTextTests {
    @Test(
        arguments: [
            ("a", 1), ("é", 1), ("e\u{301}", 1), ("ō", 1), ("Ж", 1), ("ʻ", 1), ("…", 1), ("—", 1), ("°", 1),
            ("港", 2), ("み", 2), ("ｱ", 1), ("Ａ", 2), ("한", 2), ("\u{1112}\u{1161}\u{11AB}", 2), ("。", 2),
            ("𠀋", 2),
            ("🌋", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("1\u{FE0F}\u{20E3}", 2), ("🇳🇿", 2), ("👍🏽", 2), ("☝🏽", 2),
            ("👩‍🚒", 2), ("👨‍👩‍👧‍👦", 2), ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", 2), ("™", 1), ("©", 1), ("⚡", 2), ("\u{200B}", 0), ("\u{200D}", 0),
            ("\u{FEFF}", 0),
            ("\u{301}", 0), ("\u{AD}", 1), ("\u{200F}", 0), ("ก็", 1), ("नी", 2), ("כּ", 1), ("\u{7}", 0),
            ("\r\n", 0),
            ("\u{FFFD}", 1),
        ] as [(Character, Int)])
    func aCharacterHasItsWidthInCells(character: Character, cells: Int) {
        #expect(terminalWidth(of: character) == cells, "\(character.unicodeScalars.map(\.value))")
    }

    @Test func theWidthOfATextIsTheSum() {
        #expect(terminalWidth(of: "") == 0)
        #expect(terminalWidth(of: "12 km N of 新月港 🌋") == 20)
    }

    @Test func controlAndBidirectionalCharactersAreReplaced() {
        for value in [0, 7, 9, 10, 13, 27, 0x7F, 0x80, 0x9B, 0x2028, 0x202A, 0x202E, 0x2066, 0x2069]
            as [UInt32]
        {
            let scalar = Unicode.Scalar(value)!
            #expect(strippingControlCharacters("a\(Character(scalar))b") == "a\u{FFFD}b", "\(value)")
        }
    }

    @Test(arguments: ["", "plain", "é e\u{301} Ж 港 🌋 👩‍🚒", "\u{200F}עברית", "a\u{A0}b"])
    func otherTextStaysAsItIs(text: String) {
        let stripped = strippingControlCharacters(text)
        #expect(Array(stripped.unicodeScalars) == Array(text.unicodeScalars))
    }
}

extension Table {
    fileprivate mutating func append(_ cells: [String]) -> String {
        append(cells.map { TableCell($0) })
    }
}

/// A table that keeps its rows, so that it can be rendered at several widths.
private struct Rows {
    let columns: [TableColumn]
    var rows: [[TableCell]] = []

    init(columns: [TableColumn]) { self.columns = columns }

    mutating func append(_ cells: [String]) { append(cells.map { TableCell($0) }) }
    mutating func append(_ cells: [TableCell]) { rows.append(cells) }

    func render(width: Int? = nil) -> String { render(at: Terminal(width: width)) }

    func render(at terminal: Terminal) -> String {
        var table = Table(columns: columns, at: terminal)
        return rows.reduce("") { $0 + table.append($1) } + table.finish()
    }
}

private let quakes: Rows = {
    var table = Rows(columns: [
        TableColumn(title: "time"),
        TableColumn(title: "mag", alignment: .right),
        TableColumn(title: "type", priority: 1),
        TableColumn(title: "depth", alignment: .right, priority: 1),
        TableColumn(title: "place", minimumWidth: 30, flexible: true),
        TableColumn(title: "status", priority: 2),
        TableColumn(title: "felt", alignment: .right, priority: 2),
        TableColumn(title: "alert", priority: 2),
        TableColumn(title: "updated", priority: 3),
        TableColumn(title: "url", priority: 3),
        TableColumn(title: "code"),
    ])
    func add(_ cells: String) {
        table.append(cells.split(separator: "|", omittingEmptySubsequences: false).map(String.init))
    }
    let url = "https://example.org/quakes/"
    add(
        "2025-12-31 23:59|1.4|md|-0.7|12 km N of Saltmere, Aldra|automatic|||2026-01-01 00:04|\(url)q112|q112"
    )
    add(
        "2025-12-31 23:41|7.1|mww|412.0|99 km W of 新月港, Tōgen Islands|reviewed|3120|orange|2026-01-01 00:09|\(url)q07000000j|q07000000j"
    )
    add(
        "2025-12-31 23:12|4.8|mb|10.0|8 km E of Pen\u{303}a, A\u{301}mbar|reviewed|12|green|2026-01-01 00:01|\(url)q07000001h|q07000001h"
    )
    add("2025-12-31 22:58||||Port Ember 🌋|automatic|||2025-12-31 23:10|\(url)q0253x|q0253x")
    add(
        "2025-12-31 22:03|-0.3|ml|2.1|155 km SSE of the northernmost of the Brume Islands/Îles de la Brume, Mid-Ōmori Ridge|reviewed|0||2025-12-31 22:20|\(url)q474000004|q474000004"
    )
    return table
}()
