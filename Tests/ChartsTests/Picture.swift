import Foundation
import FoundationXML

/// What a program that draws an SVG document sees in it.
final class Picture: NSObject, XMLParserDelegate {
    struct Element {
        let name: String
        let attributes: [String: String]
        var text = ""

        func number(_ name: String) -> Double? { attributes[name].flatMap(Double.init) }
    }

    private(set) var elements: [Element] = []
    private var open: [Int] = []

    /// nil when the document is not well-formed.
    init?(_ svg: String) {
        super.init()
        let parser = XMLParser(data: Data(svg.utf8))
        parser.delegate = self
        guard parser.parse() else { return nil }
    }

    var texts: [String] { elements.filter { $0.name == "text" }.map(\.text) }

    /// Circles with one of the classes of depth; those of the legend have another class too.
    var events: [Element] {
        elements.filter {
            $0.name == "circle" && $0.attributes["class"]?.wholeMatch(of: /d\d/) != nil
        }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        open.append(elements.count)
        elements.append(Element(name: name, attributes: attributes))
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        open.removeLast()
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        if let last = open.last { elements[last].text += text }
    }
}
