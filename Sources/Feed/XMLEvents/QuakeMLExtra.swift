/// Writes the values of QuakeML that the USGS's summary format does not have. They are kept in `extra`, in the table's units: km
/// and degrees.
///
/// Quakes writes none of these. If one of its events has such numbers or a mechanism, another program added them, and they are
/// kept.
extension FeatureWriter {
    mutating func appendExtra(
        _ texts: QuakeMLEvent.Texts, _ choice: QuakeMLTranslator.Choice
    ) throws(Rejection) {
        let (origin, magnitude) = (choice.origin, choice.magnitude)
        append("time_uncertainty", try texts.number(.originTimeUncertainty, origin))
        append("latitude_uncertainty", try texts.number(.originLatitudeUncertainty, origin))
        append("longitude_uncertainty", try texts.number(.originLongitudeUncertainty, origin))
        append("horizontal_uncertainty", try texts.length(.originHorizontalUncertainty, choice))
        append("depth_uncertainty", try texts.length(.originDepthUncertainty, choice))
        append("magnitude_uncertainty", try texts.number(.magnitudeUncertainty, magnitude))
        append("magnitude_stations", try texts.number(.magnitudeStations, magnitude))
        append("phases", try texts.number(.originPhases, origin))
        for (name, text) in [
            ("depth_type" as StaticString, texts.field(.originDepthType, of: origin)),
            ("evaluation_mode", texts.field(.originMode, of: origin)),
            ("evaluation_status", texts.field(.originStatus, of: origin)),
            ("type_certainty", texts.own(.typeCertainty)),
            ("agency", texts.own(.agency) ?? texts.field(.originAgency, of: origin)),
            ("author", texts.field(.originAuthor, of: origin) ?? texts.own(.author)),
            ("magnitude_agency", texts.field(.magnitudeAgency, of: magnitude)),
            ("magnitude_author", texts.field(.magnitudeAuthor, of: magnitude)),
            ("public_id", texts.text(texts.event.publicID)),
        ] {
            if let text, !texts.isOwn { append(name, text) }
        }
        guard let mechanism = choice.mechanism else { return }
        let json = try Self.focalMechanism(texts, mechanism)
        if json.count > 2 { append("focal_mechanism".utf8, json: json) }
    }

    /// The members that `report.focal_mechanism` reads: angles in degrees, moments in newton metres.
    private static func focalMechanism(
        _ texts: QuakeMLEvent.Texts, _ mechanism: QuakeMLEvent.Part
    ) throws(Rejection) -> [UInt8] {
        var json: [UInt8] = [UInt8(ascii: "{")]
        let numbers: [(StaticString, QuakeMLField)] = [
            ("strike1", .strike1), ("dip1", .dip1), ("rake1", .rake1), ("strike2", .strike2), ("dip2", .dip2),
            ("rake2", .rake2), ("scalar_moment", .scalarMoment), ("mrr", .mrr), ("mtt", .mtt), ("mpp", .mpp),
            ("mrt", .mrt), ("mrp", .mrp), ("mtp", .mtp), ("double_couple", .doubleCouple), ("clvd", .clvd),
        ]
        for (name, field) in numbers {
            guard let number = try texts.number(field, mechanism) else { continue }
            json.append(member: name)
            number.append(to: &json)
        }
        if let magnitude = try momentMagnitude(texts, mechanism) {
            json.append(member: "mw")
            magnitude.append(to: &json)
        }
        let words: [(StaticString, QuakeMLField)] = [
            ("agency", .mechanismAgency), ("evaluation_mode", .mechanismMode),
            ("evaluation_status", .mechanismStatus),
        ]
        for (name, field) in words {
            guard let text = texts.field(field, of: mechanism) else { continue }
            json.append(member: name)
            json.append(json: text)
        }
        json.append(UInt8(ascii: "}"))
        return json
    }

    /// The magnitude that the moment tensor refers to, or else the first moment magnitude (`Mw`, `Mwc`, …).
    private static func momentMagnitude(
        _ texts: QuakeMLEvent.Texts, _ mechanism: QuakeMLEvent.Part
    ) throws(Rejection) -> DecimalText? {
        let named = texts.field(.momentMagnitude, of: mechanism)
        let found =
            texts.parts(.magnitude).first { part in
                guard let named, let id = texts.text(part.id) else { return false }
                return id.elementsEqual(named)
            }
            ?? texts.parts(.magnitude).first { part in
                let type = texts.field(.magnitudeType, of: part) ?? UnsafeBufferPointer(start: nil, count: 0)
                return type.lazy.map(\.asciiLowercased).starts(with: "mw".utf8)
            }
        return try texts.number(.magnitudeValue, found)
    }
}
