import Feed
import PostgreSQL
import QuakeStore

/// Writes events as GeoJSON features in the form of the USGS's feeds, directly from the rows of a COPY
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php). Importing the document gives the same events again.
struct EventGeoJSON: EventEncoder {
    /// The properties in the order in which the feeds write a feature's members.
    static let properties: [Property] = inFeed + [.extra, .longitude, .latitude, .depth, .code]

    private static let inFeed: [Property] = {
        let known: [Property] = [
            .magnitude, .place, .time, .updated, .tz, .url, .detail, .felt, .cdi, .mmi, .alert, .status,
            .tsunami,
            .sig, .net, .netCode, .ids, .sources, .types, .nst, .dmin, .rms, .gap, .magnitudeType, .type,
            .title,
        ]
        return known + Property.allCases.filter { $0.feedName != nil && !known.contains($0) }
    }()

    /// The properties, each with the text in front of its value.
    private static let members: [(name: [UInt8], kind: Property.Kind)] = inFeed.enumerated().map {
        index, property in
        (Array("\(index == 0 ? "" : ",")\"\(property.feedName ?? "")\":".utf8), property.kind)
    }

    var title = "Earthquakes"
    var url = ""
    var generated = Instant.now
    var api = EventAPI.version
    var limit: Int?
    /// How many events the request skips; nil for a feed, which never skips events.
    var offset: Int?
    /// Whether this is the detail document of one requested event. A feature then has a list of products, which clients expect
    /// from the USGS's detail documents; the list is empty unless the event's `extra` contains products. If there is one event,
    /// the document is that feature alone, as at the USGS.
    var isDetail = false
    /// The JavaScript function that is called with the document; nil for the plain document.
    var callback: String?
    var endsLine = false
    /// Whether a feature gets the property `earthquake` when other events describe the same earthquake.
    var needsGroup = false

    private(set) var count = 0
    /// The least and the greatest longitude, latitude and depth. An unknown depth counts as 0.
    private(set) var least = SIMD3<Double>(repeating: .infinity)
    private(set) var greatest = SIMD3<Double>(repeating: -.infinity)

    private func isAlone(_ count: Int) -> Bool { isDetail && count == 1 }

    func head(of count: Int) -> String {
        let call = callback.map { "\($0)(" } ?? ""
        if isAlone(count) { return call }
        let limit = limit.map { ",\"limit\":\($0)" } ?? ""
        let offset = offset.map { ",\"offset\":\($0 + 1)" } ?? ""
        return """
            \(call){"type":"FeatureCollection","metadata":{"generated":\(generated.milliseconds),\
            "url":\(url.jsonText),"title":\(title.jsonText),"status":200,"api":"\(api)"\
            \(limit)\(offset),"count":\(count)},"features":[
            """
    }

    mutating func append(_ row: inout Row, to bytes: inout [UInt8]) throws {
        if count > 0 { bytes.append(text: ",\n") }
        count += 1
        bytes.append(text: "{\"type\":\"Feature\",\"properties\":{")
        for member in Self.members {
            bytes.append(contentsOf: member.name)
            try bytes.append(asInFeed: &row, member.kind)
        }
        let start = bytes.count
        let extra = try row.nextJSON()
        if isDetail, extra?.firstRange(of: "\"products\":".utf8) == nil {
            bytes.append(text: ",\"products\":{}")
        }
        if let extra {
            // The members of the object, without its braces.
            bytes.append(UInt8(ascii: ","))
            bytes.append(contentsOf: extra[1..<extra.count - 1])
        }
        try appendGeometry(&row, to: &bytes)
        bytes.append(text: ",\"id\":")
        try bytes.append(asInFeed: &row, .text)
        bytes.append(UInt8(ascii: "}"))
        guard needsGroup else { return }
        let group = try EarthquakeGroup(&row)
        // The group's columns are the last ones in the row, but the property `earthquake` belongs to the other properties.
        if group.members.count > 1 {
            bytes.insert(contentsOf: ",\"earthquake\":\(group.json.jsonText)".utf8, at: start)
        }
    }

    private mutating func appendGeometry(_ row: inout Row, to bytes: inout [UInt8]) throws {
        bytes.append(text: "},\"geometry\":{\"type\":\"Point\",\"coordinates\":[")
        guard let longitude = try row.nextDouble(), let latitude = try row.nextDouble() else {
            throw RowError.other
        }
        let depth = try row.nextDouble()
        bytes.append(number: longitude)
        bytes.append(UInt8(ascii: ","))
        bytes.append(number: latitude)
        bytes.append(UInt8(ascii: ","))
        if let depth { bytes.append(number: depth) } else { bytes.append(text: "null") }
        bytes.append(text: "]}")
        let point = SIMD3(longitude, latitude, depth ?? 0)
        (least, greatest) = (pointwiseMin(least, point), pointwiseMax(greatest, point))
    }

    func finish(_ bytes: inout [UInt8]) {
        if !isAlone(count) {
            bytes.append(text: "]")
            appendBounds(to: &bytes)
            bytes.append(text: "}")
        }
        if callback != nil { bytes.append(text: ");") }
        if endsLine { bytes.append(text: "\n") }
    }

    /// The collection's `bbox`, with a comma in front; nothing if there is no feature.
    private func appendBounds(to bytes: inout [UInt8]) {
        guard count > 0 else { return }
        bytes.append(text: ",\"bbox\":[")
        for (index, corner) in [least, greatest].enumerated() {
            for axis in 0..<3 {
                if index + axis > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes.append(number: corner[axis])
            }
        }
        bytes.append(UInt8(ascii: "]"))
    }
}

extension [UInt8] {
    /// Appends the row's next value as the feeds write it: times in milliseconds since 1970, flags as 0 or 1, and lists with
    /// a comma before, between and after the items.
    fileprivate mutating func append(asInFeed row: inout Row, _ kind: Property.Kind) throws {
        let appended: Void? =
            switch kind {
            case .text: try row.nextBytes().map { append(json: $0) }
            case .number: try row.nextDouble().map { append(number: $0) }
            case .integer: try row.nextInteger().map { append(integer: $0) }
            case .flag: try row.nextBool().map { append(UInt8(ascii: $0 ? "1" : "0")) }
            case .time: try row.nextInstant().map { append(integer: $0.milliseconds) }
            case .list: try append(listIn: &row)
            case .json: try row.nextJSON().map { append(contentsOf: $0) }
            }
        if appended == nil { append(text: "null") }
    }

    private mutating func append(listIn row: inout Row) throws -> Void? {
        let start = count
        append(text: "\",")
        let isList = try row.forEachText { element in
            append(insideJSON: element)
            append(UInt8(ascii: ","))
        }
        guard isList else {
            removeLast(count - start)
            return nil
        }
        append(UInt8(ascii: "\""))
        return ()
    }
}

extension EarthquakeGroup {
    /// The earthquake as JSON, in the form that `/changes` uses.
    fileprivate var json: JSONObject {
        [
            "code": code, "preferred": preferred, "magnitude_from": magnitudeFrom, "networks": networks,
            "members": members,
        ]
    }
}
