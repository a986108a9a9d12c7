import Feed

/// One earthquake as JSON, GeoJSON and fields; names as the table has them, times in ISO 8601 with milliseconds.
extension Quake {
    private enum Value {
        case text(String?)
        case number(Double?)
        case integer(Int32?)
        case flag(Bool?)
        case list([String]?)
        case json(String?)
    }

    private var members: [(name: String, value: Value)] {
        [
            ("code", .text(code)), ("net", .text(net)), ("net_code", .text(netCode)),
            ("magnitude", .number(magnitude)), ("magnitude_type", .text(magnitudeType)),
            ("place", .text(place)), ("title", .text(title)), ("url", .text(url)), ("detail", .text(detail)),
            ("status", .text(status)), ("alert", .text(alert)), ("type", .text(type)),
            ("time", .text(time.description)), ("updated", .text(updated.description)),
            ("tz", .integer(tz)), ("felt", .integer(felt)), ("sig", .integer(sig)), ("nst", .integer(nst)),
            ("cdi", .number(cdi)), ("mmi", .number(mmi)), ("dmin", .number(dmin)), ("rms", .number(rms)),
            ("gap", .number(gap)), ("tsunami", .flag(tsunami)),
            ("ids", .list(ids)), ("sources", .list(sources)), ("types", .list(types)),
            ("longitude", .number(longitude)), ("latitude", .number(latitude)), ("depth", .number(depth)),
            ("extra", .json(extra)),
        ]
    }

    /// An object of all columns, null included.
    var json: String {
        var object = JSONObject()
        for (name, value) in members {
            switch value {
            case .text(let value): object.append(name, value)
            case .number(let value): object.append(name, value)
            case .integer(let value): object.append(name, value)
            case .flag(let value): object.append(name, value)
            case .list(let value): object.append(name, value)
            case .json(let value): object.append(name, json: value ?? "null")
            }
        }
        return object.text
    }

    /// All columns as plain text, nil for null; lists with commas.
    var fields: [(name: String, value: String?)] {
        members.map { name, value in
            switch value {
            case .text(let value), .json(let value): (name, value)
            case .number(let value): (name, value.map { "\($0)" })
            case .integer(let value): (name, value.map { "\($0)" })
            case .flag(let value): (name, value.map { "\($0)" })
            case .list(let value): (name, value?.joined(separator: ","))
            }
        }
    }

    /// A feature in the form of the USGS feeds, which an import reads as the same earthquake.
    var geoJSON: String {
        var geometry = JSONObject()
        geometry.append("type", "Point")
        let coordinates = ["\(longitude)", "\(latitude)", depth.map { "\($0)" } ?? "null"]
        geometry.append("coordinates", json: "[\(coordinates.joined(separator: ","))]")
        var feature = JSONObject()
        feature.append("type", "Feature")
        feature.append("properties", json: geoJSONProperties)
        feature.append("geometry", json: geometry.text)
        feature.append("id", code)
        return feature.text
    }

    private var geoJSONProperties: String {
        // The feed wraps its lists in commas.
        func commas(_ list: [String]?) -> String? {
            list.map { $0.isEmpty ? "," : ",\($0.joined(separator: ","))," }
        }
        var properties = JSONObject()
        properties.append("mag", magnitude)
        properties.append("place", place)
        properties.append("time", time.milliseconds)
        properties.append("updated", updated.milliseconds)
        properties.append("tz", tz)
        properties.append("url", url)
        properties.append("detail", detail)
        properties.append("felt", felt)
        properties.append("cdi", cdi)
        properties.append("mmi", mmi)
        properties.append("alert", alert)
        properties.append("status", status)
        properties.append("tsunami", tsunami.map { $0 ? 1 : 0 })
        properties.append("sig", sig)
        properties.append("net", net)
        properties.append("code", netCode)
        properties.append("ids", commas(ids))
        properties.append("sources", commas(sources))
        properties.append("types", commas(types))
        properties.append("nst", nst)
        properties.append("dmin", dmin)
        properties.append("rms", rms)
        properties.append("gap", gap)
        properties.append("magType", magnitudeType)
        properties.append("type", type)
        properties.append("title", title)
        // `extra` holds the other properties: its members join these.
        guard let extra else { return properties.text }
        return properties.text.dropLast() + "," + extra.drop { $0 == "{" || $0 == " " }
    }
}
