import Feed

/// One earthquake as JSON, GeoJSON and fields.
extension Quake {
    /// An object with all columns, including those that are null. Times are in ISO 8601 with milliseconds.
    var json: String {
        var object = JSONObject()
        for property in Property.allCases { object.append(property.column, self[property]) }
        return object.text
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
    var geoJSON: String {
        var geometry = JSONObject()
        geometry.append("type", "Point")
        let coordinates = [Property.longitude, .latitude, .depth].map { self[$0].plainText ?? "null" }
        geometry.append("coordinates", json: "[\(coordinates.joined(separator: ","))]")
        var feature = JSONObject()
        feature.append("type", "Feature")
        feature.append("properties", json: geoJSONProperties)
        feature.append("geometry", json: geometry.text)
        feature.append("id", code)
        return feature.text
    }

    private var geoJSONProperties: String {
        var properties = JSONObject()
        for property in Property.allCases {
            if let name = property.feedName { properties.append(name, asInFeed: self[property]) }
        }
        // Adds the members of `extra`.
        guard let extra = self[.extra].json else { return properties.text }
        return properties.text.dropLast() + "," + extra.drop { $0 == "{" || $0 == " " }
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

extension JSONObject {
    fileprivate mutating func append(_ name: String, _ value: Quake.Value) {
        switch value {
        case .null: append(name, json: "null")
        case .text(let text): append(name, text)
        case .number(let number): append(name, number)
        case .integer(let integer): append(name, integer)
        case .flag(let flag): append(name, flag)
        case .time(let time): append(name, time.description)
        case .list(let list): append(name, list)
        case .json(let json): append(name, json: json)
        }
    }

    /// Writes times in milliseconds since 1970, flags as 0 or 1, and lists with a comma before, between and after the
    /// items.
    fileprivate mutating func append(_ name: String, asInFeed value: Quake.Value) {
        switch value {
        case .time(let time): append(name, time.milliseconds)
        case .flag(let flag): append(name, flag ? 1 : 0)
        case .list(let list): append(name, list.isEmpty ? "," : ",\(list.joined(separator: ",")),")
        case .null, .text, .number, .integer, .json: append(name, value)
        }
    }
}
