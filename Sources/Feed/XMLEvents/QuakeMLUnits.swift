/// The units of a document's lengths. QuakeML does not name them; they follow from the document's version and author.
struct QuakeMLUnits {
    /// Whether the document is QuakeML 1.0.
    var isOfFirstVersion = false
    /// The number of depths that should be in kilometres, but are so large that they can only be in metres.
    private var tooDeep = 0

    static let kilometresPerDegree = 111.195
    /// A depth below all earthquakes, in km. The deepest earthquakes are at 750 km.
    private static let deepest = 1000.0

    /// Whether an event's lengths and distances are in kilometres.
    ///
    /// QuakeML 1.0 has kilometres. Later versions have metres for lengths and degrees for distances. Two agencies did not follow
    /// this rule: EMSC wrote metres and degrees in version 1.0 (neries_events.xml of ObsPy), and IRIS's first service wrote
    /// kilometres in version 1.2 (iris_events.xml of ObsPy, https://ds.iris.edu/pipermail/webservices/2013-March/000355.html). A
    /// depth below all earthquakes can only be in metres.
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
            "the depths are read as kilometres, as the document's version or author requires; but \(tooDeep) can only be metres, and are read as metres: check the others"
    }
}
