import ArgumentParser
import Feed

/// The forms in which earthquakes are listed. Machine formats are complete and never shortened or coloured.
enum QuakeFormat: String, ExpressibleByArgument, CaseIterable {
    case table, json, ndjson, csv, geojson

    func writer() -> any QuakeWriter {
        switch self {
        case .table: QuakeTable()
        case .json: QuakeArray()
        case .ndjson: QuakeLines()
        case .csv: QuakeCSV()
        case .geojson: QuakeCollection()
        }
    }
}

/// Writes a list of earthquakes to standard output.
protocol QuakeWriter: Sendable {
    mutating func append(_ quake: Quake)
    mutating func finish()
}

/// A table for people, as wide as the terminal.
private struct QuakeTable: QuakeWriter {
    private var table = Table(columns: [
        TableColumn(title: "time (UTC)"),
        TableColumn(title: "mag", alignment: .right),
        TableColumn(title: "type", priority: 1),
        TableColumn(title: "depth km", alignment: .right, priority: 1),
        TableColumn(title: "place", minimumWidth: 30, flexible: true),
        TableColumn(title: "status", priority: 2),
        TableColumn(title: "felt", alignment: .right, priority: 2),
        TableColumn(title: "alert", priority: 2),
        TableColumn(title: "updated", priority: 3),
        TableColumn(title: "url", priority: 3),
        TableColumn(title: "code"),
    ])
    private var magnitudes: [Double?] = []

    mutating func append(_ quake: Quake) {
        magnitudes.append(quake.magnitude)
        table.append([
            quake.time.shortText,
            quake.magnitude.map { rounded($0, 1) } ?? "",
            quake.magnitudeType ?? "",
            quake.depth.map { rounded($0, 1) } ?? "",
            quake.place ?? "",
            quake.status ?? "",
            quake.felt.map { "\($0)" } ?? "",
            quake.alert ?? "",
            quake.updated.shortText,
            quake.url ?? "",
            quake.code,
        ])
    }

    func finish() {
        let style: ((Int?, String) -> String)? =
            StandardOutput.allowsColour
            ? { row, line in
                guard let row else { return "\u{1B}[2m\(line)\u{1B}[0m" }
                return (magnitudes[row] ?? 0) >= 5 ? "\u{1B}[1m\(line)\u{1B}[0m" : line
            } : nil
        StandardOutput.write(table.render(width: StandardOutput.width, style: style))
        if magnitudes.isEmpty { StandardError.print("quakes: no earthquakes match") }
    }
}

/// A decimal number with so many digits behind the point.
func rounded(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let scaled = Int64((abs(value) * scale).rounded())
    let sign = value < 0 && scaled != 0 ? "-" : ""
    let fraction = String(scaled % Int64(scale))
    let padding = String(repeating: "0", count: digits - fraction.count)
    return "\(sign)\(scaled / Int64(scale)).\(padding)\(fraction)"
}

/// One JSON array, an object a line.
private struct QuakeArray: QuakeWriter {
    private var isEmpty = true

    mutating func append(_ quake: Quake) {
        StandardOutput.write((isEmpty ? "[\n" : ",\n") + quake.json)
        isEmpty = false
    }

    func finish() { StandardOutput.print(isEmpty ? "[]" : "\n]") }
}

/// A JSON object a line.
private struct QuakeLines: QuakeWriter {
    func append(_ quake: Quake) { StandardOutput.print(quake.json) }
    func finish() {}
}

/// A GeoJSON FeatureCollection in the feed's own form: it can be imported again.
private struct QuakeCollection: QuakeWriter {
    private var isEmpty = true

    mutating func append(_ quake: Quake) {
        StandardOutput.write((isEmpty ? Self.head : ",\n") + quake.geoJSON)
        isEmpty = false
    }

    func finish() { StandardOutput.print(isEmpty ? Self.head + "]}" : "]}") }

    private static let head = "{\"type\":\"FeatureCollection\",\"features\":[\n"
}

/// Comma-separated values with a header (RFC 4180); null is an empty field.
private struct QuakeCSV: QuakeWriter {
    private var isEmpty = true

    mutating func append(_ quake: Quake) {
        printHeader()
        StandardOutput.print(quake.fields.map { Self.quoted($0.value) }.joined(separator: ","))
    }

    mutating func finish() { printHeader() }

    private mutating func printHeader() {
        guard isEmpty else { return }
        isEmpty = false
        let epoch = Instant(milliseconds: 0)
        let names = Quake(
            code: "", net: "", netCode: "", time: epoch, updated: epoch, longitude: 0, latitude: 0
        ).fields.map(\.name)
        StandardOutput.print(names.joined(separator: ","))
    }

    private static func quoted(_ field: String?) -> String {
        guard let field else { return "" }
        let needsQuotes =
            field.isEmpty || field.unicodeScalars.contains { "\",\r\n".unicodeScalars.contains($0) }
        return needsQuotes
            ? "\"\(field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
            : field
    }
}
