import Feed

/// The agencies whose events the page may show, as JSON: what each is called, the terms of its data, and what `net` its events
/// have. The page says whose they are.
enum AgencyList {
    static let json: [UInt8] = {
        var bytes = Array("[".utf8)
        for (index, agency) in Agency.known.enumerated() {
            bytes.append(text: index == 0 ? "{" : ",\n{")
            for (name, text) in [("name", agency.name), ("title", agency.title)] {
                bytes.append(text: "\"\(name)\":")
                bytes.append(jsonString: text)
                bytes.append(text: ",")
            }
            for (name, text) in [("licence", agency.licence), ("terms", agency.terms)] {
                bytes.append(text: "\"\(name)\":")
                if let text { bytes.append(jsonString: text) } else { bytes.append(text: "null") }
                bytes.append(text: ",")
            }
            let networks = agency.networks.map { "\"\($0)\"" }.joined(separator: ",")
            bytes.append(text: "\"networks\":[\(networks)]}")
        }
        bytes.append(text: "]\n")
        return bytes
    }()
}
