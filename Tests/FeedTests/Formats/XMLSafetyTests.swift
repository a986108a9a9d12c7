import TestSupport
import Testing

@testable import Feed

@Suite("Malicious XML") struct XMLSafetyTests {
    static let start =
        #"<q:quakeml xmlns:q="http://quakeml.org/xmlns/quakeml/1.2" xmlns="http://quakeml.org/xmlns/bed/1.2"><eventParameters>"#

    @Test("A document that declares an entity, or uses an undeclared one, is refused")
    func entities() {
        let lol = (1...9).map { #"<!ENTITY l\#($0) "\#(String(repeating: "&l\($0 - 1);", count: 10))">"# }
            .joined()
        for declaration in [#"<!ENTITY l0 "lol">"# + lol, #"<!ENTITY l9 SYSTEM "file:///etc/passwd">"#] {
            let document =
                "<?xml version=\"1.0\"?><!DOCTYPE q [\(declaration)]>\(Self.start)&l9;</eventParameters></q:quakeml>"
            #expect(
                "\(String(describing: ScanOutcome(Array(document.utf8)).error))".contains("document type"))
        }
        let document = Self.start + "&nbsp;</eventParameters></q:quakeml>"
        #expect(ScanOutcome(Array(document.utf8)).error != nil)
    }

    @Test("Elements that are nested too deeply break the document")
    func depth() {
        let deep = String(repeating: "<a>", count: 100_000)
        let error = ScanOutcome(Array((Self.start + deep).utf8)).error
        #expect("\(String(describing: error))".contains("nested more than 64 deep"))
    }

    @Test("Texts, tags and attributes of any length use a bounded amount of memory", .measuresMemory)
    func size() async {
        await #expect(processExitsWith: .success) {
            let event = #"<event publicID="smi:local/e">"#
            for (start, piece, error) in [
                (Self.start, " ", nil), (Self.start + event + "<comment><text>", "x", nil),
                (Self.start + event + "<pick>", "<a/>", nil),
                (Self.start + "<event publicID=\"", "x", "longer than 1 MiB"),
                (Self.start + "<!--", "x", "longer than 1 MiB"),
                (Self.start + "<?a ", "x", "longer than 1 MiB"),
                (Self.start + event, #"<origin publicID="smi:local/origin"/>"#, nil),
            ] as [(String, String, String?)] {
                var scanner = DocumentScanner()
                func scan(_ text: [UInt8]) throws {
                    try text.withUnsafeBufferPointer { _ = try scanner.scan($0) { _ in true } }
                }
                let before = residentMemory()
                let block = Array(String(repeating: piece, count: (1 << 20) / piece.utf8.count).utf8)
                do {
                    try scan(Array(start.utf8))
                    for _ in 0..<100 { try scan(block) }
                    #expect(error == nil)
                } catch let thrown {
                    #expect("\(thrown)".contains(error ?? "none"), "\(thrown)")
                }
                #expect(residentMemory() - before < 24 << 20, "\(start.suffix(20))")
            }
        }
    }

    @Test(
        "If an event has more than 1 MiB to keep, only it is rejected; picks are not kept, so they do not count"
    )
    func largeEvents() throws {
        let origin =
            "<origin publicID=\"smi:local/o\"><time><value>2026-01-01T00:00:00</value></time><latitude><value>1</value></latitude><longitude><value>2</value></longitude></origin>"
        let picks = String(
            repeating:
                "<pick publicID=\"smi:local/p\"><time><value>2026-01-01T00:00:00</value></time></pick>",
            count: 20_000)
        let long = "<description><text>\(String(repeating: "x", count: 1 << 20))</text></description>"
        let events = [picks, long, ""].map { "<event publicID=\"smi:ch.ethz.sed/1\">\($0)\(origin)</event>" }
        let outcome = ScanOutcome(
            Array((Self.start + events.joined() + "</eventParameters></q:quakeml>").utf8))
        #expect(outcome.error == nil)
        #expect(outcome.features.map { $0.failure?.reason } == [nil, .size, nil])
        #expect(outcome.features.map(\.size) == events.map(\.utf8.count))
        #expect(outcome.features[0].source?.count == 64 << 10)
    }
}
