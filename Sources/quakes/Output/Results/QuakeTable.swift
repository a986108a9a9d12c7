import Feed
import QuakeStore

/// A table for people, as wide as the terminal.
struct QuakeTable: QuakeWriter {
    private let near: QuakeSelection.Circle?
    private let times: TimeZoneText
    private var table: Table

    /// - Parameter near: adds a column with the distance from there.
    init(
        near: QuakeSelection.Circle? = nil, times: TimeZoneText = .utc,
        at terminal: Terminal = StandardOutput.terminal
    ) {
        self.near = near
        self.times = times
        var columns = [
            TableColumn(title: "time (\(times.name))"),
            TableColumn(title: "mag", alignment: .right),
            TableColumn(title: "type", priority: 2),
            TableColumn(title: "depth km", alignment: .right, priority: 2),
            TableColumn(title: "place", minimumWidth: 24, flexible: true),
        ]
        if near != nil { columns.append(TableColumn(title: "km away", alignment: .right, priority: 1)) }
        table = Table(
            columns: columns + [
                TableColumn(title: "alert", priority: 3),
                TableColumn(title: "lat", alignment: .right, priority: 4),
                TableColumn(title: "lon", alignment: .right, priority: 4),
                TableColumn(title: "felt", alignment: .right, priority: 5),
                TableColumn(title: "status", priority: 6),
                TableColumn(title: "updated", priority: 7),
                TableColumn(title: "url", priority: 7),
                TableColumn(title: "code"),
            ], at: terminal)
    }

    mutating func append(_ quake: Quake) {
        StandardOutput.write(text(quake))
    }

    mutating func finish() { StandardOutput.write(rest()) }

    /// Takes an event, and returns what can be written now.
    mutating func text(_ quake: Quake) -> String {
        let alert = quake[.alert].text
        var cells = [
            TableCell(times.text(quake.time)),
            TableCell(
                quake.magnitude.map { rounded($0, 1) } ?? "", style: TextStyle(magnitude: quake.magnitude)),
            TableCell(quake[.magnitudeType].text ?? ""),
            TableCell(quake.depth.map { rounded($0, 1) } ?? ""),
            TableCell(quake[.place].text ?? ""),
        ]
        if let near {
            let distance = near.distance(toLatitude: quake.latitude, longitude: quake.longitude)
            cells.append(TableCell(rounded(distance, 1)))
        }
        cells += [
            TableCell(alert ?? "", style: TextStyle(alert: alert)),
            TableCell(rounded(quake.latitude, 3)),
            TableCell(rounded(quake.longitude, 3)),
            TableCell(quake[.felt].integer.map { "\($0)" } ?? ""),
            TableCell(quake[.status].text ?? ""),
            TableCell(times.text(quake.updated)),
            TableCell(quake[.url].text ?? ""),
            TableCell(quake.code, link: TextLink(quake[.url].text)),
        ]
        return table.append(cells)
    }

    /// What is left to write.
    mutating func rest() -> String { table.finish() }
}

/// The number with this many digits after the decimal point.
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
