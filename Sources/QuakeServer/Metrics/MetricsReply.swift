import Feed
import HTTPTypes
import PostgreSQL
import QuakeStore

extension Responder {
    /// All metrics. The metrics of the process are available even without the database.
    func metricsReply() async -> Reply {
        var text = MetricsText()
        appendServer(to: &text)
        ProcessUse.append(to: &text)
        let hasAnswered = "quakes_database_answered"
        let meaning = "1 if the database answered this request; 0 if not, and its metrics are missing."
        switch await status.result() {
        case .success(let (sources, history, notify)):
            missingMetrics.withLock { $0.reset() }
            text.gauge(hasAnswered, meaning, 1)
            appendSources(sources, to: &text)
            appendReaders(history, to: &text)
            appendReceivers(notify, to: &text)
        case .failure(let error):
            if missingMetrics.withLock({ $0.isToBeSaid("\(error)") }) {
                logger.warning("the metrics of the database are missing: \(error)")
            }
            text.gauge(hasAnswered, meaning, 0)
        }
        return Reply(contentType: MetricsText.contentType, body: Array(text.text.utf8))
    }

    private func appendServer(to text: inout MetricsText) {
        let counts = metrics.current
        text.family("quakes_info", .gauge, "The version of the program.")
        text.sample("quakes_info", [("version", settings.version)], 1)
        text.family(
            "quakes_http_requests_total", .counter,
            "Requests by route and status; status 0 if the client left before the end of the answer.")
        for (key, count) in counts.requests.sorted(by: {
            ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status)
        }) {
            let labels = [("route", key.route), ("status", "\(key.status)")]
            text.sample("quakes_http_requests_total", labels, count)
        }
        text.family(
            "quakes_http_request_duration_seconds", .histogram,
            "The time from a request's head to the end of its answer.")
        for (route, histogram) in counts.times.sorted(by: { $0.key < $1.key }) {
            text.histogram("quakes_http_request_duration_seconds", [("route", route)], histogram)
        }
        text.gauge("quakes_http_requests_under_way", "Requests that are being answered.", counts.underWay)
        text.gauge(
            "quakes_http_connections_open", "Open connections, including those that request metrics.",
            counts.connections)
        if let accessLog {
            text.counter(
                "quakes_access_log_dropped_lines_total", "Lines of the access log that could not be written.",
                accessLog.dropped)
        }
        text.counter("quakes_http_rows_total", "Events that were sent.", counts.rows)
        text.counter("quakes_http_body_bytes_total", "Bytes of bodies that were sent.", counts.bytes)
        let usage = sessions.usage
        text.gauge("quakes_sessions_open", "Open database sessions that answer requests.", usage.open)
        text.gauge("quakes_sessions_used", "Database sessions that are in use.", usage.used)
        text.gauge("quakes_requests_waiting", "Requests that wait for a session.", usage.waiting)
        text.family(
            "quakes_address_refused_total", .counter,
            "Connections, streams and costly requests that were refused by the limits per client address.")
        let refused = bounds.refused
        for kind in ClientBounds.Kind.allCases {
            text.sample("quakes_address_refused_total", [("kind", kind.rawValue)], refused[kind, default: 0])
        }
        text.counter(
            "quakes_slow_clients_dropped_total", "Clients that were disconnected because they did not read.",
            counts.slowClients)
        text.gauge(
            "quakes_spooled_bytes", "Bytes that wait in temporary files for slow clients.", quota.bytes)
        text.gauge(
            "quakes_live_clients", "Clients that have caught up and receive new changes.", counts.liveClients)
        text.gauge(
            "quakes_live_clients_waiting",
            "Reads of missed changes that wait for a session; each is for all clients that need the same changes.",
            usage.waitingStreams)
        text.gauge(
            "quakes_live_clients_behind", "Live clients that have not received all new changes yet.",
            counts.liveClientsBehind)
        text.counter(
            "quakes_live_passes_total", "Passes that were sent to live clients.", counts.livePasses)
        text.counter(
            "quakes_live_changes_total", "Changes that were sent to live clients.", counts.liveChanges)
        if let state = board.state, let age = board.age {
            text.gauge("quakes_token", "The newest token that this process has read.", state.position.token)
            text.gauge(
                "quakes_commit_timestamp_seconds", "The commit time of the token in quakes_token.",
                Double(state.committedAt.milliseconds) / 1000)
            text.gauge(
                "quakes_database_silence_seconds",
                "The time since the database last reported its state.", age / .seconds(1))
        }
    }

    private func appendSources(_ status: ImportStatus, to text: inout MetricsText) {
        let monitored = status.sources.filter { $0.isMonitored }
        text.gauge(
            "quakes_source_age_seconds",
            "The time since a source was last imported successfully or found unchanged; if never, since its first run.",
            by: "source", monitored.map { ($0.label, $0.silence / .seconds(1)) })
        text.gauge(
            "quakes_source_document_age_seconds",
            "The age of the newest imported document, by the time that the document states.", by: "source",
            monitored.compactMap { source in source.documentAge.map { (source.label, $0 / .seconds(1)) } })
        text.gauge(
            "quakes_rejects",
            "Distinct features that could not be imported, except deletions that name no event.",
            status.rejects)
    }

    private func appendReaders(_ status: HistoryStatus, to text: inout MetricsText) {
        text.gauge("quakes_newest_token", "The newest token in the database.", status.token)
        text.gauge(
            "quakes_reader_tokens_behind", "By how many tokens a named reader is behind.", by: "reader",
            status.readers.map { ($0.name, $0.tokensBehind) })
        text.gauge(
            "quakes_reader_behind_seconds",
            "The age of the oldest transaction that a named reader has not applied.", by: "reader",
            status.readers.map { ($0.name, $0.behind / .seconds(1)) })
    }

    private func appendReceivers(_ status: NotifyStatus, to text: inout MetricsText) {
        text.gauge(
            "quakes_notify_waiting", "Messages of quakes notify that wait for delivery.", by: "receiver",
            status.receivers.map { ($0.name, $0.waiting) })
        text.gauge(
            "quakes_notify_failing_seconds",
            "How long deliveries of waiting messages have failed; 0 if none has failed.", by: "receiver",
            status.receivers.map { ($0.name, ($0.failing ?? .zero) / .seconds(1)) })
        text.gauge(
            "quakes_notify_given_up", "Messages of the last 30 days that were given up.", by: "receiver",
            status.receivers.map { ($0.name, $0.givenUp) })
        text.gauge(
            "quakes_notify_given_up_in_hour", "Messages that were given up within the last hour.",
            by: "receiver", status.receivers.map { ($0.name, $0.givenUpLately) })
    }
}
