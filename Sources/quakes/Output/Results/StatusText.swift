import Feed
import QuakeStore

struct Status: Sendable {
    let catalogue: CatalogueStatus
    let imports: ImportStatus
    let history: HistoryStatus

    /// Everything that is older or further behind than allowed. Sources that nobody imports regularly do not count, unless
    /// they are asked for: a file is imported once and does not grow old.
    func complaints(maxAge: Duration?, maxLag: Duration?, asked: [FeedSource]) -> [String] {
        var complaints: [String] = []
        if let maxAge {
            let sources = imports.sources.filter { $0.isMonitored || !asked.isEmpty }
            for source in sources where source.age.map({ $0 > maxAge }) ?? true {
                let last = source.age.map { "was last imported successfully \($0.rough) ago" }
                let remedy =
                    source.every == nil ? "; if it is no longer imported: quakes forget \(source.label)" : ""
                complaints.append(
                    "\(source.label) \(last ?? "has never been imported successfully")\(remedy)")
            }
            if asked.isEmpty, sources.isEmpty { complaints.append("no feed has ever been imported") }
        }
        if let maxLag {
            for reader in history.readers where reader.behind > maxLag || reader.isBeforeHorizon {
                // So old that quakes prune does not wait for it either.
                let remedy =
                    reader.silence > .seconds(86_400)
                    ? ", last seen \(reader.silence.rough) ago; if it is no more: quakes forget --reader \(reader.name)"
                    : ""
                complaints.append("reader \(reader.name) is \(reader.behind.rough) behind\(remedy)")
            }
        }
        return complaints
    }

    // MARK: Text

    func text(at terminal: Terminal) -> String {
        var parts = [catalogueText]
        if !imports.sources.isEmpty { parts.append(sourceTable(at: terminal) + errors) }
        let rejects = imports.rejects == 0 ? "" : "; \(imports.rejects) different rejects (quakes rejects)"
        parts.append(
            "token \(history.token), committed \(history.committedAt.instant.shortText) UTC; history begins after token \(history.horizon)\(rejects)\n"
        )
        if !history.readers.isEmpty { parts.append(readerTable(at: terminal)) }
        return parts.joined(separator: "\n")
    }

    private var catalogueText: String {
        guard let newest = catalogue.newest else {
            return "no earthquakes yet; to import those of the last day: quakes import all_day\n"
        }
        let magnitude = newest.magnitude.map { "M \(rounded($0, 1))" }
        let event = [magnitude, newest.place.map(strippingControlCharacters)].compactMap(\.self).joined(
            separator: ", ")
        return """
            \(catalogue.isEstimate ? "about " : "")\(catalogue.roundedCount) earthquakes
            the newest: \(newest.time.shortText) UTC, \(newest.age.rough) ago\(event.isEmpty ? "" : ": \(event)") \
            (\(strippingControlCharacters(newest.code)))

            """
    }

    private func sourceTable(at terminal: Terminal) -> String {
        let columns = [
            TableColumn(title: "source", widest: 1000),
            TableColumn(title: "data of (UTC)"),
            TableColumn(title: "checked (UTC)", priority: 1),
            TableColumn(title: "age", alignment: .right),
            TableColumn(title: "outcome"),
            TableColumn(title: "run", alignment: .right, priority: 2),
            TableColumn(title: "seen", alignment: .right, priority: 3),
            TableColumn(title: "inserted", alignment: .right, priority: 3),
            TableColumn(title: "updated", alignment: .right, priority: 3),
            TableColumn(title: "deleted", alignment: .right, priority: 3),
            TableColumn(title: "rejected", alignment: .right, priority: 2),
        ]
        var table = Table(columns: columns, at: terminal)
        var text = ""
        for source in imports.sources {
            text += table.append([
                source.label, source.generated?.shortText ?? "", source.freshAt?.shortText ?? "never",
                source.age?.rough ?? "", source.outcome, "\(source.run)", "\(source.seen)",
                "\(source.inserted)", "\(source.updated)", "\(source.deleted)", "\(source.rejected)",
            ])
        }
        return text + table.finish()
    }

    /// What went wrong in the last runs, one line each: a column would have no room for it.
    private var errors: String {
        imports.sources.compactMap { source in
            source.error.map {
                strippingControlCharacters("\(source.label), run \(source.run): \($0)") + "\n"
            }
        }.joined()
    }

    private func readerTable(at terminal: Terminal) -> String {
        let columns = [
            TableColumn(title: "reader", minimumWidth: 10, flexible: true),
            TableColumn(title: "token", alignment: .right),
            TableColumn(title: "behind", alignment: .right),
            TableColumn(title: "tokens behind", alignment: .right),
            TableColumn(title: "seen (UTC)"),
            TableColumn(title: "note", priority: 1),
        ]
        var table = Table(columns: columns, at: terminal)
        var text = ""
        for reader in history.readers {
            text += table.append([
                reader.name, "\(reader.token)", reader.behind.rough, "\(reader.tokensBehind)",
                reader.seenAt.shortText, reader.isBeforeHorizon ? "needs a fresh snapshot" : "",
            ])
        }
        return text + table.finish()
    }

    // MARK: JSON

    var json: String {
        var object = JSONObject()
        object.append("events", catalogue.roundedCount)
        object.append("events_is_estimate", catalogue.isEstimate)
        object.append("newest_event", catalogue.newest?.code)
        object.append("newest_event_time", catalogue.newest?.time.description)
        object.append("newest_event_age_seconds", catalogue.newest.map { $0.age / .seconds(1) })
        object.append("token", history.token)
        object.append("committed_at", history.committedAt.description)
        object.append("horizon", history.horizon)
        object.append("sources", json: "[\(imports.sources.map(\.json).joined(separator: ","))]")
        object.append("rejects", imports.rejects)
        object.append("rejected", imports.rejected)
        object.append("readers", json: "[\(history.readers.map(\.json).joined(separator: ","))]")
        return object.text
    }
}

extension CatalogueStatus {
    /// An estimate has no more than three digits that mean something.
    var roundedCount: Int {
        guard isEstimate else { return count }
        var scale = 1
        while count / scale >= 1000 { scale *= 10 }
        return (count + scale / 2) / scale * scale
    }
}

extension ImportStatus.Source {
    var json: String {
        var object = JSONObject()
        object.append("source", name)
        object.append("label", label)
        object.append("monitored", isMonitored)
        object.append("every_seconds", every.map { $0 / .seconds(1) })
        object.append("fresh_at", freshAt?.description)
        object.append("age_seconds", age.map { $0 / .seconds(1) })
        object.append("generated", generated?.description)
        object.append("document_age_seconds", documentAge.map { $0 / .seconds(1) })
        object.append("run", run)
        object.append("outcome", outcome)
        object.append("started", started.description)
        object.append("seen", seen)
        object.append("inserted", inserted)
        object.append("updated", updated)
        object.append("deleted", deleted)
        object.append("rejected", rejected)
        object.append("error", error)
        return object.text
    }
}

extension HistoryStatus.Reader {
    var json: String {
        var object = JSONObject()
        object.append("name", name)
        object.append("token", token)
        object.append("seen_at", seenAt.description)
        object.append("tokens_behind", tokensBehind)
        object.append("seconds_behind", behind / .seconds(1))
        object.append("needs_snapshot", isBeforeHorizon)
        return object.text
    }
}
