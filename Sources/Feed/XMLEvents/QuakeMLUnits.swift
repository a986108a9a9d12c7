/// The units of a document's lengths. QuakeML does not name them; they follow from its version, and from who wrote it.
struct QuakeMLUnits {
    /// Whether it is QuakeML 1.0.
    var isOfFirstVersion = false
    /// How many depths that should be in kilometres can only be metres.
    private var tooDeep = 0

    static let kilometresPerDegree = 111.195
    /// In kilometres. The deepest earthquakes are at 750.
    private static let deepest = 1000.0

    /// Whether an event's lengths are in kilometres, and so are distances.
    ///
    /// QuakeML 1.0 has kilometres, later versions have metres, and degrees for distances. EMSC wrote metres and degrees as 1.0
    /// (neries_events.xml of ObsPy), and IRIS's first service kilometres as 1.2 (iris_events.xml of ObsPy,
    /// https://ds.iris.edu/pipermail/webservices/2013-March/000355.html). A depth below every earthquake can only be metres.
    mutating func areKilometres(_ texts: QuakeMLEvent.Texts, _ origin: QuakeMLEvent.Part?) -> Bool {
        let identifier = EventIdentifier(texts.string(texts.text(texts.event.publicID)))
        let isOfIRIS = identifier.authority.hasPrefix("www.iris.edu/ws/")
        guard isOfIRIS || isOfFirstVersion && Agency.owning(identifier)?.name != "emsc" else { return false }
        guard let text = texts.field(.originDepth, of: origin),
            case .number(let depth) = DecimalText.read(text), abs(depth.value) > Self.deepest
        else { return true }
        tooDeep += 1
        return false
    }

    var note: String? {
        guard tooDeep > 0 else { return nil }
        return
            "the document should have depths in kilometres, and so they are read; but \(tooDeep) can only be metres, and are read as metres: check the others"
    }
}
