import Feed

extension Agency {
    static var columns: [Column<Self>] {
        [
            Column("agency") { $0.name },
            Column("swept every", priority: 2) { $0.eventService?.pace.rough ?? "" },
            Column("whose data", flexible: true) { $0.title },
            Column("licence") { $0.licence ?? "ask the agency" },
            Column("terms", priority: 1, widest: 1000) { $0.terms ?? "" },
            Column("event service", priority: 3, widest: 1000) { $0.service },
        ]
    }

    /// The service that has the agency's name as a source; nil for one that goes by its URL.
    private var eventService: EventService? { EventService.registered.first { $0.name == name } }

    fileprivate var json: String {
        var object = JSONObject()
        object.append("agency", name)
        object.append("title", title)
        object.append("service", service)
        object.append("source", eventService?.name)
        object.append("every_seconds", eventService.map { $0.pace / .seconds(1) })
        object.append("licence", licence)
        object.append("terms", terms)
        object.append("attribution", attribution)
        return object.text
    }
}

extension [Agency] {
    /// One object, whose `agencies` has one for each.
    var json: String {
        var object = JSONObject()
        object.append("agencies", json: "[\(map(\.json).joined(separator: ","))]")
        return object.text
    }
}
