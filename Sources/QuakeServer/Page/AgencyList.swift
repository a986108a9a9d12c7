import Feed

/// The agencies whose events the page may show, as JSON: what each is called, the terms of its data, what `net` its events
/// have, and the host of its service. The page says whose they are.
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
