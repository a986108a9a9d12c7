extension Responder {
    /// How long the database may be silent. Its state is asked for every few seconds.
    private static let silence = Duration.seconds(30)

    /// 200 if the database has answered lately and the server is not to end, else 503. A feed that is late makes no server ill:
    /// that is for the alerts.
    var health: Reply {
        let age = board.age
        let hasDatabase = age.map { $0 < Self.silence } ?? false
        let isHealthy = hasDatabase && ending.phase == .serving
        var body: [UInt8] = []
        body.append(text: "{\"status\":")
        body.append(
            jsonString: isHealthy
                ? "ok" : hasDatabase ? "the server is ending" : "the database does not answer")
        body.append(text: ",\"token\":")
        body.append(text: board.state.map { "\($0.position.token)" } ?? "null")
        body.append(text: ",\"committed_at\":")
        body.append(text: board.state.map { "\"\($0.position.committedAt)\"" } ?? "null")
        body.append(text: ",\"seconds_since_database_answered\":")
        body.append(text: age.map { "\(($0 / .milliseconds(1)).rounded() / 1000)" } ?? "null")
        body.append(text: ",\"history_begins_at\":")
        body.append(text: board.state.map { "\"\($0.beginning)\"" } ?? "null")
        // One document covers several feeds: of each service, the newest one tells how late its feeds are.
        let newest = Dictionary(
            (board.state?.settled ?? []).map { ($0.service, $0) },
            uniquingKeysWith: { $0.generated < $1.generated ? $1 : $0 })
        body.append(text: ",\"services\":[")
        for (index, (service, document)) in newest.sorted(by: { $0.key < $1.key }).enumerated() {
            body.append(text: index == 0 ? "{\"service\":" : ",{\"service\":")
            body.append(jsonString: service)
            body.append(text: ",\"generated\":\"\(document.generated)\"")
            if let interval = document.interval {
                body.append(text: ",\"interval\":\(interval.components.seconds)")
            }
            body.append(text: "}")
        }
        body.append(text: "],\"sessions\":\(sessions.usage.open)}\n")
        var reply = Reply(isHealthy ? 200 : 503, "application/json; charset=utf-8", body: body)
        if !isHealthy { reply.headers.append(("Retry-After", "5")) }
        return reply
    }
}
