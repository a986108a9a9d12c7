import QuakeStore

extension Reject {
    var cells: [String] {
        [
            "\(id)", lastSeen.shortText, "\(count)", reason, message, "\(run)", source, "\(ordinal)",
            "\(offset)",
            "\(size)",
        ]
    }

    var json: String {
        var object = JSONObject()
        object.append("id", id)
        object.append("run", run)
        object.append("source", source)
        object.append("ordinal", ordinal)
        object.append("byte_offset", offset)
        object.append("reason", reason)
        object.append("message", message)
        object.append("size", size)
        object.append("cut", isCut)
        object.append("count", count)
        object.append("first_seen", firstSeen.description)
        object.append("last_seen", lastSeen.description)
        return object.text
    }
}
