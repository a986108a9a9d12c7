import Feed

/// The agencies whose events the page may show, as JSON: their names, the licence and the terms of their data, the values of
/// `net` in their events, and the host of their service. The page shows which agency an event comes from.
enum AgencyList {
    static let json: [UInt8] = {
        let agencies = Agency.known.map { agency -> JSONObject in
            [
                "name": agency.name, "label": agency.label, "title": agency.title, "licence": agency.licence,
                "terms": agency.terms,
                "networks": agency.networks, "service": agency.host,
            ]
        }
        return Array("[\(agencies.map(\.jsonText).joined(separator: ",\n"))]\n".utf8)
    }()
}
