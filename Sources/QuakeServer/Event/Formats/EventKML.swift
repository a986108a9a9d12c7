import Feed
import PostgreSQL

/// Events as placemarks of KML 2.2 (https://docs.ogc.org/is/07-147r2/07-147r2.html), like the USGS's `.kml` feeds
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/kml.php). An icon's colour shows the event's age or depth, and its size
/// shows the magnitude. Each day has a folder.
struct EventKML: EventEncoder {
    static let properties = EventSummary.properties

    let form: Form
    let title: String
    let url: String
    let now: Instant
    /// Whether each magnitude has a folder, instead of each day.
    var groupsByMagnitude = false
    private(set) var folder: String?

    struct Form: Sendable, Equatable {
        var color = Color.age
        /// Whether each placemark has a time, so that a program such as Google Earth can show the events in their order.
        var isAnimated = false
    }

    enum Color: String, Sendable, CaseIterable {
        case age, depth
    }

    /// The head names a standard icon that KML programs already contain.
    func head(of count: Int) -> String {
        let icon =
            "<IconStyle><Icon><href>http://maps.google.com/mapfiles/kml/shapes/shaded_dot.png</href></Icon></IconStyle>"
        let styles = [("inactive", 0), ("active", 1)].map { name, scale in
            "<Style id=\"circle-\(name)\">\(icon)<LabelStyle><scale>\(scale)</scale></LabelStyle></Style>"
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <kml xmlns="http://www.opengis.net/kml/2.2" xmlns:atom="http://www.w3.org/2005/Atom">
            <NetworkLinkControl><minRefreshPeriod>60</minRefreshPeriod></NetworkLinkControl>
            <Document><name>\(xmlEscaped(title)), colored by \(form.color)\(form.isAnimated ? ", animated" : "")</name>\
            <atom:link rel="self" href="\(xmlEscaped(url))"/><description>Updated \(now)</description>
            \(styles.joined())<StyleMap id="circle"><Pair><key>normal</key><styleUrl>#circle-inactive</styleUrl></Pair>\
            <Pair><key>highlight</key><styleUrl>#circle-active</styleUrl></Pair></StyleMap>

            """
    }

    mutating func append(_ row: inout Row, to bytes: inout [UInt8]) throws {
        let event = try EventSummary(&row)
        let folder = folder(of: event)
        if folder != self.folder {
            if self.folder != nil { bytes.append(text: "</Folder>\n") }
            bytes.append(text: "<Folder><name>\(xmlEscaped(folder))</name>\n")
            self.folder = folder
        }
        bytes.append(text: "<Placemark><name>")
        bytes.append(xmlText: event.title)
        bytes.append(text: "</name><Snippet maxLines=\"0\"></Snippet><description>")
        var description = Array("<h2>".utf8)
        description.append(xmlText: event.title)
        description.append(text: "</h2>\(event.list)")
        if let url = event.url {
            description.append(text: "<p><a href=\"")
            description.append(xmlText: url)
            description.append(text: "\">Details</a></p>")
        }
        bytes.append(xmlText: description)
        bytes.append(text: "</description>")
        if form.isAnimated { bytes.append(text: "<TimeStamp><when>\(event.time)</when></TimeStamp>") }
        bytes.append(text: "<styleUrl>#circle</styleUrl><Style><IconStyle><color>\(color(of: event))</color>")
        bytes.append(text: "<scale>\(size(of: event))</scale></IconStyle></Style>")
        bytes.append(text: "<ExtendedData><Data name=\"id\"><value>")
        bytes.append(xmlText: event.code)
        bytes.append(text: "</value></Data></ExtendedData>")
        bytes.append(text: "<Point><coordinates>\(event.longitude),\(event.latitude),0</coordinates></Point>")
        bytes.append(text: "</Placemark>\n")
    }

    func finish(_ bytes: inout [UInt8]) {
        bytes.append(text: "\(folder == nil ? "" : "</Folder>\n")</Document></kml>\n")
    }

    private func folder(of event: EventSummary) -> String {
        guard groupsByMagnitude else { return String("\(event.time)".prefix(10)) }
        guard let magnitude = event.magnitude else { return "Magnitude unknown" }
        return magnitude < 0 ? "Magnitude <0" : "Magnitude \(Int(magnitude))"
    }

    /// The colour of the event's class in the USGS's legends. The hexadecimal digits are opacity, blue, green and red.
    private func color(of event: EventSummary) -> String {
        switch form.color {
        case .age:
            let hours = Double(now.milliseconds - event.time.milliseconds) / 3_600_000
            return hours <= 1 ? Self.red : hours <= 24 ? Self.orange : hours <= 168 ? Self.yellow : Self.white
        case .depth:
            guard let depth = event.depth else { return Self.white }
            let classes = [
                (35, Self.orange), (70, Self.yellow), (150, Self.green), (300, Self.blue), (500, Self.purple),
            ]
            return classes.first { depth <= Double($0.0) }?.1 ?? Self.red
        }
    }

    private static let (red, orange, yellow) = ("dd0000ff", "dd0099ff", "dd00ffff")
    private static let (green, blue, purple, white) = ("dd00ff00", "ddff0000", "ddc020a0", "ddffffff")

    private func size(of event: EventSummary) -> Double {
        let sizes = [0.2, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.1, 1.5, 2, 2.5]
        return sizes[Int(min(max(event.magnitude ?? 0, 0), 10))]
    }
}
