import Feed

/// The agencies whose events the page may show, as JSON: what each is called, the terms of its data, and what `net` its events
/// have. The page says whose they are.
enum AgencyList {
    static let json: [UInt8] = {
        let agencies = Agency.known.map { agency in
            let networks = agency.networks.map { "\"\($0)\"" }.joined(separator: ",")
            return """
                {"name":\(jsonString(agency.name)),"title":\(jsonString(agency.title)),\
                "licence":\(agency.licence.map(jsonString) ?? "null"),\
                "terms":\(agency.terms.map(jsonString) ?? "null"),"networks":[\(networks)]}
                """
        }
        return Array("[\(agencies.joined(separator: ",\n"))]\n".utf8)
    }()
}
