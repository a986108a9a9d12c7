import EmbeddedFiles
import Feed
import HTTPTypes

/// A file of the live page. All files are embedded in the executable. They are compressed once, except the map's tiles and a page
/// with an event's preview.
struct PageFile: Sendable {
    let name: String
    let bytes: [UInt8]
    let compressed: [UInt8]?
    /// Whether other sites may show the file in a frame.
    private let isFramed: Bool

    /// The files by name. A new file needs a line in `CEmbedded/embedded.c`; a test finds files that have no line there.
    private static let all: [String: PageFile] = Dictionary(
        uniqueKeysWithValues: contents.filter { $0.key != "index.html" }.map { ($0, PageFile($0, $1)) })

    /// The name of the folder that contains this version of the files: 16 hexadecimal digits, a hash of all files. If a file
    /// changes, the folder gets another name. So a browser that has the files of a folder does not ask for them again.
    static let version: String = {
        let all = contents.sorted { $0.key < $1.key } + MapTiles.sources.sorted { $0.key < $1.key }
        return all.flatMap { Array($0.key.utf8) + $0.value }.hashText
    }()

    /// The file at a path: `/page/NAME`, or `/page/VERSION/NAME`. A page of another version gets the current file.
    static func at(_ path: String) -> (file: PageFile, isVersioned: Bool)? {
        guard path.hasPrefix("/page/"),
            let match = path.wholeMatch(of: #/\/page\/(?:([0-9a-f]{16})\/)?([^\/]+)/#),
            let file = named(String(match.2))
        else { return nil }
        return (file, match.1.map(String.init) == version)
    }

    private static func named(_ name: String) -> PageFile? {
        if let file = all[name] { return file }
        return MapTiles.all[name].map { PageFile(name, Array($0)) }
    }

    private static let contents: [String: [UInt8]] = {
        var contents = EmbeddedFiles.inFolder("page")
        for name in contents.keys where name.hasSuffix(".js") || name.hasSuffix(".css") {
            contents[name] = contents[name].map(withoutComments)
        }
        contents["agencies.json"] = AgencyList.json
        contents["land.txt"] = EmbeddedFiles.file("map/land.txt")
        contents["places.txt"] = EmbeddedFiles.file("map/places.txt")
        return contents
    }()

    /// Removes the comments that have lines to themselves. They are a quarter of the bytes that a browser would otherwise load.
    static func withoutComments(_ text: [UInt8]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        var isInComment = false
        let lines = text.split(separator: newline, omittingEmptySubsequences: false).filter { line in
            let words = line.drop { $0 == UInt8(ascii: " ") }
            if words.starts(with: "//".utf8) { return false }
            if !isInComment, words.starts(with: "/*".utf8) {
                // A line with code after the comment stays.
                guard let end = words.firstRange(of: "*/".utf8) else {
                    isInComment = true
                    return false
                }
                return end.upperBound != words.endIndex
            }
            defer { if isInComment, words.suffix(2).elementsEqual("*/".utf8) { isInComment = false } }
            return !isInComment
        }
        return Array(lines.joined(separator: [newline]))
    }

    /// The page itself. It names its files by absolute paths, because the page's own path may or may not end with a slash.
    ///
    /// - Parameters:
    ///   - baseURL: the server's public URL; nil if it is not configured. The preview of a shared link needs it to find the
    ///     page's picture.
    ///   - isFramed: whether the page is for a frame in any other site.
    ///   - card: the preview of a link to an event; nil for the preview of the page itself.
    static func index(
        below basePath: String, at baseURL: String?, isFramed: Bool = false, _ card: PageCard? = nil
    ) -> PageFile {
        var text = String(decoding: contents["index.html"] ?? [], as: UTF8.self)
            .replacing("<!-- modules -->", with: modules)
            // The paths of the picture and the manifest contain no version: a shared link shows its picture for a long time, and
            // a browser recognizes an installed page by its manifest.
            .replacing(#/="\/page\/(?!card|manifest)/#, with: "=\"/page/\(version)/")
            .replacing("=\"/page/card.png", with: "=\"\(xmlEscaped(baseURL ?? basePath))/page/card.png")
            .replacing("=\"/", with: "=\"\(basePath)/")
        if isFramed {
            text = text.replacing("<html lang=\"en\">", with: "<html lang=\"en\" class=\"embed\">")
        }
        if let card { text = card.written(into: text) }
        return PageFile("index.html", Array(text.utf8), isFramed: isFramed)
    }

    /// Links with which a browser preloads all modules that the page needs at the start. Without these links, the browser finds a
    /// module only after it has loaded the module that imports it.
    private static let modules = contents.keys.sorted().filter {
        $0.hasSuffix(".js") && !notPreloaded.contains($0)
    }
    .map { "<link rel=\"modulepreload\" href=\"/page/\($0)\">" }.joined(separator: "\n")

    /// The files that need no preload link. The markup names `start.js`. `tiles.js` is imported when the map is zoomed in, and
    /// the other two for the first event that has a mechanism.
    private static let notPreloaded: Set = ["start.js", "tiles.js", "beachball.js", "mechanism.js"]

    private init(_ name: String, _ bytes: [UInt8], isFramed: Bool = false) {
        (self.name, self.bytes, self.isFramed) = (name, bytes, isFramed)
        var encoder = GzipEncoder(level: 9)
        compressed = name.hasSuffix(".png") ? nil : encoder.compress(bytes, isLast: true)
    }

    private var contentType: String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "json": "application/json; charset=utf-8"
        case "png": "image/png"
        case "svg": "image/svg+xml"
        case "webmanifest": "application/manifest+json"
        default: "text/plain; charset=utf-8"
        }
    }

    /// The content security policy. The page loads everything from this server. It never interprets a text as markup or as a
    /// script, because texts of feeds can contain anything (https://www.w3.org/TR/CSP3/, https://www.w3.org/TR/trusted-types/).
    private var policy: String {
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors \(isFramed ? "*" : "'none'"); "
            + "object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    }

    /// - Parameter isVersioned: whether the path contains the file's version, so that a cache may keep the file for a year.
    func reply(to fields: HTTPFields, isVersioned: Bool = false) -> Reply {
        let packed = AcceptedEncoding.prefersGzip(fields[.acceptEncoding]) ? compressed : nil
        let tag = EntityTag(of: bytes, isCompressed: packed != nil)
        let isKnown = tag.isNamed(by: fields[.ifNoneMatch], isThere: true)
        var headers: HTTPFields = [
            .eTag: tag.description, .vary: "Accept-Encoding", .contentSecurityPolicy: policy,
            .referrerPolicy: "no-referrer",
        ]
        if isVersioned { headers[.cacheControl] = "public, max-age=31536000, immutable" }
        if isKnown { return Reply(status: 304, headers: headers) }
        if packed != nil { headers[.contentEncoding] = "gzip" }
        return Reply(contentType: contentType, headers: headers, body: packed ?? bytes)
    }
}
