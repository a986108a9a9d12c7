/// Translates GeoJSON of other agencies. Features in EMSC's form have the member `unid`; features in GeoNet's form have
/// `publicID`. The agency follows from the id by the same rules as in text and QuakeML.
struct FeatureDialect {
    private(set) var naming: EventNaming
    private var writer = FeatureWriter()

    init(_ naming: EventNaming) {
        self.naming = naming
    }

    /// Translates a feature into the USGS's form. Returns nil if the feature is broken, or is not in the form of another agency.
    ///
    /// - Parameter body: gets the translated feature. If the event was rejected or withdrawn, it gets a feature with only the id,
    ///   and the rejection or the deletion.
    mutating func translate<Result>(
        _ feature: UnsafeBufferPointer<UInt8>,
        _ body: (UnsafeBufferPointer<UInt8>, Rejection?, StatedDeletion?) throws -> Result
    ) rethrows -> Result? {
        // A feature with `net` or `code` has the USGS's form, even if it also has `unid` or `publicID`.
        guard let members = FeatureMembers(feature), members.value("net") == nil, members.value("code") == nil
        else { return nil }
        let rejection: Rejection?
        if let id = members.text("unid") {
            rejection = write(EMSCFeature(members: members), id)
        } else if let id = members.text("publicID") {
            rejection = write(GeoNetFeature(members: members), id)
        } else {
            return nil
        }
        return try writer.bytes.withUnsafeBufferPointer { try body($0, rejection, writer.deletion) }
    }

    private mutating func write(_ feature: some Translatable, _ id: String) -> Rejection? {
        // The name needs the time only for the day in the code of an unknown agency's event. An event whose time can't be read is
        // rejected below; a deletion needs no time.
        let time = try? feature.members.time("time")
        let name = naming.name(StatedName(id: id, time: time))
        do throws(Rejection) {
            guard !id.isEmpty else { throw Rejection(.missing, "the id is empty") }
            if feature.isGone {
                try writer.retract(name, revised: feature.members.time(feature.revised))
            } else {
                try feature.members.expectPoint()
                writer.begin(name)
                try feature.write(to: &writer)
            }
            return nil
        } catch {
            writer.write(onlyCode: name.code)
            return error
        }
    }
}

private protocol Translatable {
    var members: FeatureMembers { get }
    var isGone: Bool { get }
    /// The member with the time of revision.
    var revised: StaticString { get }
    func write(to writer: inout FeatureWriter) throws(Rejection)
}

/// EMSC's form (https://www.seismicportal.eu/fdsn-wsevent.html). The depth is negative in the geometry, but not in the
/// properties.
private struct EMSCFeature: Translatable {
    let members: FeatureMembers
    let isGone = false
    let revised: StaticString = "lastupdate"

    func write(to writer: inout FeatureWriter) throws(Rejection) {
        let time = try members.requiredTime("time")
        writer.append("time", time: time)
        writer.append("updated", time: try members.time(revised) ?? time)
        writer.append("mag", try members.number("mag"))
        writer.append("magType", (members.text("magtype") ?? "").utf8)
        writer.append("place", (members.text("flynn_region") ?? "").utf8)
        writer.append("type", EventKind.name(of: (members.text("evtype") ?? "").utf8))
        members.appendOthers(
            than: ["unid", "time", "lastupdate", "mag", "magtype", "flynn_region", "lat", "lon", "depth"],
            to: &writer)
        let depth: DecimalText? =
            if let depth = try members.number("depth") { depth } else { try members.coordinate(2)?.negated }
        var (longitude, latitude) = (try members.coordinate(0), try members.coordinate(1))
        if longitude == nil { longitude = try members.number("lon") }
        if latitude == nil { latitude = try members.number("lat") }
        writer.end(longitude: longitude, latitude: latitude, depth: depth)
    }
}

/// GeoNet's form (https://api.geonet.org.nz/#quakes). An intensity of -1 means that the earthquake can't be felt.
private struct GeoNetFeature: Translatable {
    let members: FeatureMembers
    var isGone: Bool { members.text("quality") == "deleted" }
    let revised: StaticString = "modificationTime"

    func write(to writer: inout FeatureWriter) throws(Rejection) {
        let time = try members.requiredTime("time")
        writer.append("time", time: time)
        // GeoNet's lists of events have no revision times. The origin time replaces a missing revision time, because a
        // revision cannot be earlier.
        writer.append("updated", time: try members.time(revised) ?? time)
        writer.append("mag", try members.number("magnitude"))
        writer.append("magType", (members.text("magnitudeType") ?? "").utf8)
        writer.append("place", (members.text("locality") ?? "").utf8)
        switch members.text("quality") {
        case "best", "good": writer.append("status", "reviewed".utf8)
        case "automatic", "preliminary", "caution": writer.append("status", "automatic".utf8)
        default: break
        }
        let mmi = members.value("mmi")
        if let mmi, !members.bytes.extracting(mmi).elementsEqual("-1".utf8) {
            writer.append("mmi", try members.number("mmi"))
        }
        members.appendOthers(
            than: [
                "publicID", "time", "modificationTime", "magnitude", "magnitudeType", "locality", "depth",
                "mmi",
            ],
            to: &writer)
        writer.end(
            longitude: try members.coordinate(0), latitude: try members.coordinate(1),
            depth: try members.number("depth"))
    }
}
