import Feed

enum EventAPI {
    /// The version of the FDSN standard (1.2), followed by the version of this implementation.
    static let version = "1.2.0"

    /// A machine-readable description of the service (https://www.w3.org/submissions/wadl/), from which ObsPy learns the
    /// parameters.
    ///
    /// - Parameter base: the path of the service, without a slash at the end. The path has no host, because ObsPy takes a service
    ///   for the station service if its URL contains the word `station`.
    static func wadl(base: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <application xmlns="http://wadl.dev.java.net/2009/02" xmlns:xs="http://www.w3.org/2001/XMLSchema">
        <resources base="\(xmlEscaped(base))">
        \(resource("query", EventParameter.allCases, "application/xml", "text/plain", "text/csv", "application/json", "application/vnd.google-earth.kml+xml"))
        \(resource("count", EventParameter.allCases, "text/plain", "application/json"))
        \(resource("version", [], "text/plain"))
        \(resource("catalogs", [], "application/xml"))
        \(resource("contributors", [], "application/xml"))
        \(resource("application.wadl", [], "application/xml"))
        </resources>
        </application>

        """
    }

    private static func resource(_ path: String, _ parameters: [EventParameter], _ types: String...) -> String
    {
        let request = parameters.isEmpty ? "" : "<request>\n\(parameters.map(param).joined())</request>"
        let answers = types.map { "<representation mediaType=\"\($0)\"/>" }.joined()
        return """
            <resource path="\(path)"><method name="GET" id="\(path)">\(request)<response>\(answers)</response></method></resource>
            """
    }

    private static func param(_ parameter: EventParameter) -> String {
        let head = "<param name=\"\(parameter)\" style=\"query\" required=\"false\""
        switch parameter.kind {
        case .time: return "\(head) type=\"xs:dateTime\"/>\n"
        case .number: return "\(head) type=\"xs:double\"/>\n"
        case .integer: return "\(head) type=\"xs:int\"/>\n"
        case .boolean: return "\(head) type=\"xs:boolean\" default=\"false\"/>\n"
        case .text: return "\(head) type=\"xs:string\"/>\n"
        case .choice(let words):
            let options = words.map { "<option value=\"\($0)\"/>" }.joined()
            return "\(head) type=\"xs:string\">\(options)</param>\n"
        }
    }
}
