import Feed

/// A picture in Scalable Vector Graphics (https://www.w3.org/TR/SVG11/). Each element is drawn over the earlier ones. Coordinates
/// are in pixels from the upper left corner, rounded to a tenth.
struct SVG {
    private let caption: Caption
    private let width: Double
    private var body = ""

    init(_ caption: Caption, width: Double) {
        (self.caption, self.width) = (caption, width)
        // A wide font takes about 0.64 of its size for a character. A long title gets a smaller font, so that it fits.
        let size = min(19, (width - 20) / (0.64 * Double(max(1, caption.title.count))))
        text(caption.title, at: .init(x: width / 2, y: 32), size: size, anchor: .middle, class: "h")
    }

    struct Point: Equatable {
        var x: Double
        var y: Double
    }

    enum Anchor: String {
        case start, middle, end
    }

    /// The complete document, with the caption's lines from `start` downwards.
    mutating func document(linesFrom start: Point) -> String {
        var point = start
        let room = Int((width - point.x - 10) / (0.6 * 11))
        for line in caption.lines.flatMap({ Self.wrapped($0, to: room) }) {
            text(line, at: point, size: 11, class: "s")
            point.y += 16
        }
        let size = (width: Self.number(width), height: Self.number(point.y + 6))
        // Screen readers read the title aloud.
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" width="\(size.width)" height="\(size.height)" \
            viewBox="0 0 \(size.width) \(size.height)" role="img" font-family="sans-serif">
            <title>\(xmlEscaped(caption.title))</title>
            <style>\(Palette.style)</style>
            <rect width="100%" height="100%" fill="#fff"/>
            \(body)</svg>

            """
    }

    /// Breaks a text at spaces into lines of at most `length` characters. A longer word is a line by itself.
    static func wrapped(_ text: String, to length: Int) -> [String] {
        text.split(separator: " ").reduce(into: [String]()) { lines, word in
            if let last = lines.last, last.count + 1 + word.count <= length {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }

    mutating func element(_ name: String, _ attributes: KeyValuePairs<String, String>) {
        body += "<\(name)\(Self.text(attributes))/>\n"
    }

    /// Draws `content`, clipped to the outline, and the outline over it.
    mutating func frame(_ outline: String, _ content: (inout SVG) -> Void) {
        definition("<clipPath id=\"frame\"><path d=\"\(outline)\"/></clipPath>")
        body += "<g clip-path=\"url(#frame)\">\n"
        content(&self)
        body += "</g>\n"
        element("path", ["class": "axis", "d": outline])
    }

    mutating func definition(_ element: String) {
        body += "<defs>\(element)</defs>\n"
    }

    mutating func text(
        _ text: String, at point: Point, size: Double = 12, anchor: Anchor = .start, class name: String = "t",
        rotated degrees: Double = 0
    ) {
        let turn = degrees == 0 ? "" : " transform=\"rotate(\(Self.number(degrees)) \(Self.pair(point)))\""
        body +=
            "<text class=\"\(name)\" x=\"\(Self.number(point.x))\" y=\"\(Self.number(point.y))\" font-size=\"\(Self.number(size))\" text-anchor=\"\(anchor.rawValue)\"\(turn)>\(xmlEscaped(text))</text>\n"
    }

    mutating func line(from start: Point, to end: Point, class name: String) {
        element("path", ["class": name, "d": "M\(Self.pair(start))L\(Self.pair(end))"])
    }

    mutating func polyline(_ points: [Point], class name: String) {
        guard points.count > 1 else { return }
        element("path", ["class": name, "d": Self.path(points)])
    }

    /// - Parameter end: the opposite corner.
    mutating func rectangle(from start: Point, to end: Point, class name: String) {
        body +=
            "<rect class=\"\(name)\" x=\"\(Self.number(min(start.x, end.x)))\" y=\"\(Self.number(min(start.y, end.y)))\" width=\"\(Self.number(abs(end.x - start.x)))\" height=\"\(Self.number(abs(end.y - start.y)))\"/>\n"
    }

    mutating func circle(at centre: Point, radius: Double, class name: String) {
        body +=
            "<circle class=\"\(name)\" cx=\"\(Self.number(centre.x))\" cy=\"\(Self.number(centre.y))\" r=\"\(Self.number(radius))\"/>\n"
    }

    static func path(_ points: [Point], isClosed: Bool = false) -> String {
        guard let first = points.first else { return "" }
        return points.dropFirst().reduce(into: "M\(pair(first))") { $0 += "L\(pair($1))" }
            + (isClosed ? "Z" : "")
    }

    static func pair(_ point: Point) -> String {
        number(point.x) + " " + number(point.y)
    }

    static func number(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "0" }
        let tenths = Int((value * 10).rounded())
        let whole = "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10)"
        return tenths % 10 == 0 ? whole : "\(whole).\(abs(tenths) % 10)"
    }

    private static func text(_ attributes: KeyValuePairs<String, String>) -> String {
        attributes.map { " \($0)=\"\(xmlEscaped($1))\"" }.joined()
    }
}
