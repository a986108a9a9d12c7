import ArgumentParser
import Feed
import QuakeML
import QuakeStore

/// The forms in which earthquakes are listed. Machine formats are complete and never shortened or coloured.
enum QuakeFormat: String, ExpressibleByArgument, CaseIterable {
    case table, json, ndjson, csv, geojson, quakeml

    /// - Parameters:
    ///   - near: where distances are measured from, if the format shows them.
    ///   - times: the zone of a table's times; machine formats are always in UTC.
    func writer(csv: CSV, near: QuakeSelection.Circle?, times: TimeZoneText = .utc) -> any QuakeWriter {
        switch self {
        case .table: QuakeTable(near: near, times: times)
        case .json: QuakeArray()
        case .ndjson: QuakeLines()
        case .csv: QuakeCSV(csv: csv)
        case .geojson: QuakeCollection()
        case .quakeml: QuakeMLDocument()
        }
    }
}

/// Writes a list of earthquakes to standard output.
protocol QuakeWriter: Sendable {
    mutating func append(_ quake: Quake)
    mutating func finish()
}

/// One JSON array, with one object per line.
private struct QuakeArray: QuakeWriter {
    private var isEmpty = true

    mutating func append(_ quake: Quake) {
        StandardOutput.write((isEmpty ? "[\n" : ",\n") + quake.json)
        isEmpty = false
    }

    func finish() { StandardOutput.print(isEmpty ? "[]" : "\n]") }
}

/// One JSON object per line.
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

/// Comma-separated values with a header.
private struct QuakeCSV: QuakeWriter {
    let csv: CSV
    private var isEmpty = true

    init(csv: CSV) { self.csv = csv }

    mutating func append(_ quake: Quake) {
        printHeader()
        StandardOutput.print(csv.line(quake.fields))
    }

    mutating func finish() { printHeader() }

    private mutating func printHeader() {
        guard isEmpty else { return }
        isEmpty = false
        StandardOutput.print(csv.line(Property.allCases.map { .value($0.column) }))
    }
}

/// A QuakeML document.
private struct QuakeMLDocument: QuakeWriter {
    private var isEmpty = true

    mutating func append(_ quake: Quake) {
        StandardOutput.write((isEmpty ? QuakeML.head : "") + QuakeML.event(quake))
        isEmpty = false
    }

    func finish() { StandardOutput.write((isEmpty ? QuakeML.head : "") + QuakeML.tail) }
}
