import Feed
import HTTPTypes

extension Responder {
    /// How long the database may be silent before the server counts as unhealthy. The catalogue's state is read every few
    /// seconds.
    private static let silence = Duration.seconds(30)

    /// The reply to a health check. Its status is 200 if the database has answered lately and is not known to be unreachable, and
    /// the server is not shutting down; otherwise it is 503. A late feed does not make the server unhealthy: alerts report late
    /// feeds.
    var health: Reply {
        let age = board.age
        let hasDatabase = live.outage == nil && age.map { $0 < Self.silence } ?? false
        let isHealthy = hasDatabase && phase == .serving
        let word =
            isHealthy ? "ok" : hasDatabase ? "the server is shutting down" : "the database does not answer"
        let state = board.state
        // One document covers several feeds, so the newest document of each service shows how late the service's feeds are.
        let newest = Dictionary(
            (state?.settled ?? []).map { ($0.service, $0) },
            uniquingKeysWith: { $0.generated < $1.generated ? $1 : $0 })
        let services = newest.sorted { $0.key < $1.key }.map { service, document in
            var object: JSONObject = ["service": service, "generated": document.generated]
            if let interval = document.interval {
                object.append("interval", Int(interval.components.seconds))
            }
            return object
        }
        let object: JSONObject = [
            "status": word, "token": state?.position.token, "committed_at": state?.position.committedAt,
            "seconds_since_database_answered": age.map { ($0 / .milliseconds(1)).rounded() / 1000 },
            "history_begins_at": state?.beginning, "services": services, "sessions": sessions.usage.open,
        ]
        return Reply(
            status: isHealthy ? 200 : 503, contentType: "application/json; charset=utf-8",
            headers: isHealthy ? [:] : [.retryAfter: "5"], body: Array("\(object.jsonText)\n".utf8))
    }
}
