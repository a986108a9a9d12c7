import Feed

/// One earthquake as JSON, GeoJSON and fields.
extension Quake {
    /// An object with all columns, including those that are null. Times are in ISO 8601 with milliseconds.
    var json: JSONObject {
        var object = JSONObject()
        for property in Property.allCases { object.append(property.column, self[property]) }
        return object
    }

    /// All columns as plain text. Null is nil; lists are separated by commas.
    var fields: [CSV.Field] {
        Property.allCases.map { property in
            let text = self[property].plainText
            return switch property.kind {
            case .text, .list, .json: .text(text)
            case .number, .integer, .flag, .time: .value(text)
            }
        }
    }

    /// A feature as the USGS feeds write it. Importing it gives the same earthquake again.
    var geoJSON: JSONObject {
        let coordinates = [Property.longitude, .latitude, .depth].map { self[$0] }
        let geometry: JSONObject = ["type": "Point", "coordinates": coordinates]
        return [
            "type": "Feature", "properties": RawJSON(geoJSONProperties), "geometry": geometry, "id": code,
        ]
    }

    private var geoJSONProperties: String {
        var properties = JSONObject()
        for property in Property.allCases {
            if let name = property.feedName { properties.append(name, self[property].asInFeed) }
        }
        // Adds the members of `extra`.
        guard let extra = self[.extra].json else { return properties.jsonText }
        return properties.jsonText.dropLast() + "," + extra.drop { $0 == "{" || $0 == " " }
    }
}

extension Quake.Value {
    fileprivate var plainText: String? {
        switch self {
        case .null: nil
        case .text(let text), .json(let text): text
        case .number(let number): "\(number)"
        case .integer(let integer): "\(integer)"
        case .flag(let flag): "\(flag)"
        case .time(let time): time.description
        case .list(let list): list.joined(separator: ",")
        }
    }
}

extension Quake.Value: JSONConvertible {
    package var jsonText: String {
        switch self {
        case .null: "null"
        case .text(let text): text.jsonText
        case .number(let number): number.jsonText
        case .integer(let integer): "\(integer)"
        case .flag(let flag): flag.jsonText
        case .time(let time): time.jsonText
        case .list(let list): list.jsonText
        case .json(let json): json
        }
    }

    /// Times in milliseconds since 1970, flags as 0 or 1, and lists with a comma before, between and after the items.
    fileprivate var asInFeed: any JSONConvertible {
        switch self {
        case .time(let time): Int(time.milliseconds)
        case .flag(let flag): flag ? 1 : 0
        case .list(let list): list.isEmpty ? "," : ",\(list.joined(separator: ",")),"
        case .null, .text, .number, .integer, .json: self
        }
    }
}
