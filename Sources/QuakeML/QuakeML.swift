import Feed
import XML

/// QuakeML 1.2 (Basic Event Description, https://quake.ethz.ch/quakeml): a document is `head`, any number of events, and
/// `tail`, so it can be written event by event.
///
/// An event has one origin and, if its magnitude is known, one magnitude; both are the preferred ones. Numbers have the digits
/// that the table has, with the depth in metres. What a summary feed has and QuakeML has not, such as felt reports and alerts,
/// is left out, and so is a text that is longer than the schema allows.
public enum QuakeML {
    /// The beginning of a document.
    public static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <q:quakeml xmlns="http://quakeml.org/xmlns/bed/1.2" xmlns:q="http://quakeml.org/xmlns/quakeml/1.2">
        <eventParameters publicID="smi:local/quakes/catalogue">

        """

    /// The end of a document.
    public static let tail = """
        </eventParameters>
        </q:quakeml>

        """

    /// One event, which ends with a line feed.
    public static func event(_ quake: Quake) -> String {
        let id = publicID(quake)
        let info = creationInfo(quake)
        let type = quake[.type].text.map { typeElements($0) } ?? ""
        // Also without a place: QQuake reads the first description of each event, and fails where there is none.
        let place = element("text", xmlEscaped(quake[.place].text ?? "")) + element("type", "earthquake name")
        let magnitude = magnitude(quake, of: id, info)
        let preferred =
            element("preferredOriginID", "\(id)/origin")
            + (magnitude.isEmpty ? "" : element("preferredMagnitudeID", "\(id)/magnitude"))
        return
            "<event publicID=\"\(id)\">\(preferred)\(type)\(element("description", place))\(origin(quake, of: id, info))"
            + "\(magnitude)\(info)</event>\n"
    }

    private static func origin(_ quake: Quake, of id: String, _ info: String) -> String {
        var content = value("time", quake.time.description)
        content += value("latitude", "\(quake.latitude)") + value("longitude", "\(quake.longitude)")
        if let depth = quake.depth { content += value("depth", metres(depth)) }
        content += quality(quake)
        if let status = quake[.status].text { content += evaluation(status) }
        return "<origin publicID=\"\(id)/origin\">\(content)\(info)</origin>"
    }

    private static func magnitude(_ quake: Quake, of id: String, _ info: String) -> String {
        guard let magnitude = quake.magnitude else { return "" }
        var content = value("mag", "\(magnitude)")
        if let type = quake[.magnitudeType].text, type.unicodeScalars.count <= 32 {
            content += element("type", xmlEscaped(type))
        }
        content += element("originID", "\(id)/origin")
        return "<magnitude publicID=\"\(id)/magnitude\">\(content)\(info)</magnitude>"
    }

    /// The number of stations, the largest gap, the nearest station and the residual.
    private static func quality(_ quake: Quake) -> String {
        var content = ""
        if let stations = quake[.nst].integer { content += element("usedStationCount", "\(stations)") }
        if let residual = quake[.rms].number { content += element("standardError", "\(residual)") }
        if let gap = quake[.gap].number { content += element("azimuthalGap", "\(gap)") }
        if let distance = quake[.dmin].number { content += element("minimumDistance", "\(distance)") }
        return content.isEmpty ? "" : element("quality", content)
    }

    private static func evaluation(_ status: String) -> String {
        switch status.lowercased() {
        case "automatic": element("evaluationMode", "automatic") + element("evaluationStatus", "preliminary")
        case "reviewed": element("evaluationMode", "manual") + element("evaluationStatus", "reviewed")
        case "deleted": element("evaluationStatus", "rejected")
        default: ""
        }
    }

    private static func creationInfo(_ quake: Quake) -> String {
        let net = quake[.net].text ?? ""
        let agency = net.unicodeScalars.count <= 64 ? element("agencyID", xmlEscaped(net)) : ""
        return element("creationInfo", agency + element("creationTime", quake.updated.description))
    }

    /// A type that the schema does not know is another event, with its name in a comment.
    private static func typeElements(_ type: String) -> String {
        let spaced = type.lowercased().replacing("_", with: " ")
        let name = synonyms[spaced] ?? spaced
        if types.contains(name) { return element("type", name) }
        return element("type", "other event")
            + element("comment", element("text", xmlEscaped("type: \(type)")))
    }

    /// What older feeds call them.
    private static let synonyms = ["quarry": "quarry blast", "rock slide": "rockslide"]

    private static let types: Set = [
        "not existing", "not reported", "earthquake", "anthropogenic event", "collapse", "cavity collapse",
        "mine collapse", "building collapse", "explosion", "accidental explosion", "chemical explosion",
        "controlled explosion", "experimental explosion", "industrial explosion", "mining explosion",
        "quarry blast", "road cut", "blasting levee", "nuclear explosion", "induced or triggered event",
        "rock burst", "reservoir loading", "fluid injection", "fluid extraction", "crash", "plane crash",
        "train crash", "boat crash", "other event", "atmospheric event", "sonic boom", "sonic blast",
        "acoustic noise", "thunder", "avalanche", "snow avalanche", "debris avalanche",
        "hydroacoustic event", "ice quake", "slide", "landslide", "rockslide", "meteorite",
        "volcanic eruption",
    ]

    private static func value(_ name: String, _ number: String) -> String {
        element(name, element("value", number))
    }

    /// - Parameter content: escaped already.
    private static func element(_ name: String, _ content: String) -> String {
        "<\(name)>\(content)</\(name)>"
    }
}
