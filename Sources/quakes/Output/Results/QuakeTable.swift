import Feed

/// A table for people, as wide as the terminal.
struct QuakeTable: QuakeWriter {
    private var table = Table(columns: [
        TableColumn(title: "time (UTC)"),
        TableColumn(title: "mag", alignment: .right),
        TableColumn(title: "type", priority: 1),
        TableColumn(title: "depth km", alignment: .right, priority: 1),
        TableColumn(title: "place", minimumWidth: 24, flexible: true),
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
            quake[.magnitudeType].text ?? "",
            quake.depth.map { rounded($0, 1) } ?? "",
            quake[.place].text ?? "",
            quake[.status].text ?? "",
            quake[.felt].integer.map { "\($0)" } ?? "",
            quake[.alert].text ?? "",
            quake.updated.shortText,
            quake[.url].text ?? "",
            quake.code,
        ])
    }

    func finish() {
        StandardOutput.write(render(width: StandardOutput.width, inColour: StandardOutput.allowsColour))
        if magnitudes.isEmpty { StandardError.print("quakes: no earthquakes match") }
    }

    /// - Parameters:
    ///   - width: in terminal cells; nil makes the table as wide as its contents.
    ///   - inColour: whether to dim the header and to show events of magnitude 5 or more in bold.
    func render(width: Int?, inColour: Bool) -> String {
        guard inColour else { return table.render(width: width) }
        return table.render(width: width) { row, line in
            guard let row else { return "\u{1B}[2m\(line)\u{1B}[0m" }
            return (magnitudes[row] ?? 0) >= 5 ? "\u{1B}[1m\(line)\u{1B}[0m" : line
        }
    }
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
