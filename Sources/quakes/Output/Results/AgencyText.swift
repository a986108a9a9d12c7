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

    /// The service that `quakes import` accepts by the agency's name; nil if it accepts only the service's URL.
    private var eventService: EventService? { EventService.registered.first { $0.name == name } }

    fileprivate var json: JSONObject {
        [
            "agency": name, "title": title, "service": service, "source": eventService?.name,
            "every_seconds": eventService.map { $0.pace / .seconds(1) }, "licence": licence, "terms": terms,
            "attribution": attribution,
        ]
    }
}

extension [Agency] {
    var json: JSONObject { ["agencies": map(\.json)] }
}
