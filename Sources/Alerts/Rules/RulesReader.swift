import Feed
import Foundation
import Yams

extension Rules {
    /// Reads a rules file. docs/notify.md describes its format.
    ///
    /// - Parameters:
    ///   - file: the file's name, for error messages.
    ///   - town: finds a town by its name. If there is no such town, it throws an error whose description gives the reason.
    /// - Throws: `Failure`, with all problems of the file, in the file's order. Each problem is one line, such as
    ///   `rules.yaml:12:5: unknown key "magnitud"; did you mean "magnitude"?`.
    public init(yaml: [UInt8], file: String, town: @escaping (String) throws -> Point) throws {
        var reader = RulesReader(town: town)
        let rules = reader.rules(yaml)
        guard let rules, reader.yaml.problems.isEmpty else {
            let problems = reader.yaml.problems.sorted {
                ($0.line ?? 0, $0.column ?? 0) < ($1.line ?? 0, $1.column ?? 0)
            }
            throw Failure(.badData, problems.map { $0.text(in: file) }.joined(separator: "\n"))
        }
        self = rules
    }
}

/// Reads the sections of a rules file.
struct RulesReader {
    let town: (String) throws -> Point
    var yaml = YAMLReader()
    /// The points of the section `places`, by name.
    var places: [String: Point] = [:]
    var receiverNames: [String] = []
    var mail: MailServer?
    var fileZone = TimeZone.gmt

    mutating func rules(_ bytes: [UInt8]) -> Rules? {
        guard let root = yaml.root(bytes) else { return nil }
        let sections = yaml.entries(
            root, of: "the file", known: ["zone", "places", "mail", "receivers", "rules"])
        func section(_ name: String) -> Node? { sections.first { $0.key == name }?.value }

        // Sections that other sections refer to are read first, regardless of their order in the file.
        if let node = section("zone") { fileZone = readZone(node) ?? .gmt }
        if let node = section("places") { readPlaces(node) }
        if let node = section("mail") { mail = readMailServer(node) }
        var receivers: [String: Receiver] = [:]
        if let node = section("receivers") {
            for entry in yaml.entries(node, of: "receivers") {
                receiverNames.append(entry.key)
                receivers[entry.key] = readReceiver(entry, hasMail: section("mail") != nil)
            }
        } else {
            yaml.note(root.mark, "the file has no receivers")
        }
        guard let node = section("rules") else {
            yaml.note(root.mark, "the file has no rules")
            return nil
        }
        let rules = yaml.entries(node, of: "rules").compactMap { readRule($0) }
        return Rules(rules: rules, receivers: receivers, zone: fileZone)
    }

    /// The names in the IANA database that have no slash and are in use.
    private static let shortNames: Set = [
        "UTC", "GMT", "WET", "CET", "MET", "EET", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT",
    ]

    mutating func readZone(_ node: Node) -> TimeZone? {
        guard let name = yaml.text(node, "the time zone") else { return nil }
        // Foundation also accepts abbreviations, some of which mean several zones.
        if name.contains("/") || Self.shortNames.contains(name), let zone = TimeZone(identifier: name) {
            return zone
        }
        let hint = closestSpelling(of: name, among: ["UTC"] + TimeZone.knownTimeZoneIdentifiers).map {
            "; did you mean \(quoted($0))?"
        }
        yaml.note(
            node.mark,
            "there is no time zone \(quoted(name))\(hint ?? "; an example of a name is Europe/Berlin")")
        return nil
    }

    private mutating func readPlaces(_ node: Node) {
        for entry in yaml.entries(node, of: "places") {
            guard let text = yaml.text(entry.value, "a place") else { continue }
            do { places[entry.key] = try point(text) } catch { yaml.note(entry.value.mark, "\(error)") }
        }
    }

    /// Reads coordinates such as `35.69, 139.75`, or the name of a town.
    func point(_ text: String) throws -> Point {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let numbers = parts.map { decimal($0.trimmed) }
        if parts.count == 2, let latitude = numbers[0], let longitude = numbers[1] {
            guard abs(latitude) <= 90, abs(longitude) <= 360 else {
                throw Failure(
                    .badData,
                    "a latitude is between -90 and 90 degrees, a longitude between -360 and 360")
            }
            return Point(latitude: latitude, longitude: longitude)
        }
        return try town(text)
    }
}

/// A number in decimal digits, such as `-2.5`; nil for exponents, other bases and infinity.
func decimal(_ text: some StringProtocol) -> Double? {
    let digits = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    let isDecimal =
        (1...2).contains(parts.count)
        && parts.allSatisfy { (1...12).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isDigit) }
    return isDecimal ? Double(text) : nil
}
