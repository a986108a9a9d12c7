import Foundation
import FoundationXML

/// The elements of an SVG document, as a program that draws it would read them.
final class Picture: NSObject, XMLParserDelegate {
    struct Element {
        let name: String
        let attributes: [String: String]
        var text = ""

        func number(_ name: String) -> Double? { attributes[name].flatMap(Double.init) }
    }

    private(set) var elements: [Element] = []
    private var open: [Int] = []

    /// Fails if the document is not well-formed.
    init?(_ svg: String) {
        super.init()
        let parser = XMLParser(data: Data(svg.utf8))
        parser.delegate = self
        guard parser.parse() else { return nil }
    }

    var texts: [String] { elements.filter { $0.name == "text" }.map(\.text) }

    /// The circles whose only class is a class of depth; circles in the legend also have another class.
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
