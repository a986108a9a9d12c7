extension Responder {
    /// How long the database may be silent. Its state is asked for every few seconds.
    private static let silence = Duration.seconds(30)

    /// 200 if the database has answered lately, else 503. A feed that is late makes no server ill: that is for the alerts.
    var health: Reply {
        let age = board.age
        let isHealthy = age.map { $0 < Self.silence } ?? false
        var body: [UInt8] = []
        body.append(text: "{\"status\":")
        body.append(jsonString: isHealthy ? "ok" : "the database does not answer")
        body.append(text: ",\"token\":")
        body.append(text: board.state.map { "\($0.position.token)" } ?? "null")
        body.append(text: ",\"committed_at\":")
        body.append(text: board.state.map { "\"\($0.position.committedAt)\"" } ?? "null")
        body.append(text: ",\"seconds_since_database_answered\":")
        body.append(text: age.map { "\(($0 / .milliseconds(1)).rounded() / 1000)" } ?? "null")
        body.append(text: ",\"history_begins_at\":")
        body.append(text: board.state.map { "\"\($0.beginning)\"" } ?? "null")
        body.append(text: ",\"feeds\":[")
        for (index, document) in (board.state?.settled ?? []).enumerated() {
            body.append(text: index == 0 ? "" : ",")
            body.append(text: "{\"feed\":\"\(document.feed)\",\"service\":")
            body.append(jsonString: document.service)
            body.append(text: ",\"generated\":\"\(document.generated)\"}")
        }
        body.append(text: "],\"sessions\":\(sessions.usage.open)}\n")
        var reply = Reply(isHealthy ? 200 : 503, "application/json; charset=utf-8", body: body)
        if !isHealthy { reply.headers.append(("Retry-After", "5")) }
        return reply
    }
}
