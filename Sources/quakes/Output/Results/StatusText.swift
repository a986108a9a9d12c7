import Feed
import QuakeStore

struct Status: Sendable {
    let imports: ImportStatus
    let history: HistoryStatus

    /// Everything that is older or further behind than allowed. A file does not count, unless it is asked for: it is
    /// imported once and does not grow old.
    func complaints(maxAge: Duration?, maxLag: Duration?, asked: [FeedSource]) -> [String] {
        var complaints: [String] = []
        if let maxAge {
            let feeds = imports.sources.filter { $0.isFeed || !asked.isEmpty }
            for feed in feeds where feed.age.map({ $0 > maxAge }) ?? true {
                let last = feed.age.map { "was last imported successfully \($0.formatted) ago" }
                complaints.append("\(feed.name) \(last ?? "has never been imported successfully")")
            }
            for source in asked where !imports.sources.contains(where: { $0.name == "\(source)" }) {
                complaints.append("\(source) has never been imported")
            }
            if asked.isEmpty, feeds.isEmpty { complaints.append("no feed has ever been imported") }
        }
        if let maxLag {
            for reader in history.readers where reader.behind > maxLag || reader.isBeforeHorizon {
                complaints.append("reader \(reader.name) is \(reader.behind.formatted) behind")
            }
        }
        return complaints
    }

    // MARK: Text

    func text(width: Int?) -> String {
        var parts: [String] = []
        if !imports.sources.isEmpty { parts.append(sourceTable.render(width: width)) }
        let rejects = imports.rejects == 0 ? "" : "; \(imports.rejects) different rejects (quakes rejects)"
        parts.append(
            "token \(history.token), committed \(history.committedAt.shortText) UTC; history begins after token \(history.horizon)\(rejects)\n"
        )
        if !history.readers.isEmpty { parts.append(readerTable.render(width: width)) }
        return parts.joined(separator: "\n")
    }

    private var sourceTable: Table {
        var table = Table(columns: [
            TableColumn(title: "source", minimumWidth: 20, flexible: true, widest: 1000),
            TableColumn(title: "fresh (UTC)"),
            TableColumn(title: "age", alignment: .right),
            TableColumn(title: "run", alignment: .right, priority: 1),
            TableColumn(title: "outcome"),
            TableColumn(title: "seen", alignment: .right, priority: 2),
            TableColumn(title: "inserted", alignment: .right, priority: 2),
            TableColumn(title: "updated", alignment: .right, priority: 2),
            TableColumn(title: "deleted", alignment: .right, priority: 2),
            TableColumn(title: "rejected", alignment: .right, priority: 1),
            TableColumn(title: "error", minimumWidth: 20, flexible: true, widest: 1000),
        ])
        for source in imports.sources {
            table.append([
                source.name, source.freshAt?.shortText ?? "never", source.age?.formatted ?? "",
                "\(source.run)",
                source.outcome, "\(source.seen)", "\(source.inserted)", "\(source.updated)",
                "\(source.deleted)",
                "\(source.rejected)", source.error ?? "",
            ])
        }
        return table
    }

    private var readerTable: Table {
        var table = Table(columns: [
            TableColumn(title: "reader", minimumWidth: 10, flexible: true),
            TableColumn(title: "token", alignment: .right),
            TableColumn(title: "behind", alignment: .right),
            TableColumn(title: "transactions", alignment: .right),
            TableColumn(title: "seen (UTC)"),
            TableColumn(title: "note", priority: 1),
        ])
        for reader in history.readers {
            table.append([
                reader.name, "\(reader.token)", reader.behind.formatted, "\(reader.transactionsBehind)",
                reader.seenAt.shortText, reader.isBeforeHorizon ? "needs a fresh snapshot" : "",
            ])
        }
        return table
    }

    // MARK: JSON

    var json: String {
        var object = JSONObject()
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

extension ImportStatus.Source {
    var json: String {
        var object = JSONObject()
        object.append("source", name)
        object.append("fresh_at", freshAt?.description)
        object.append("age_seconds", age.map { $0 / .seconds(1) })
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
        object.append("transactions_behind", transactionsBehind)
        object.append("seconds_behind", behind / .seconds(1))
        object.append("needs_snapshot", isBeforeHorizon)
        return object.text
    }
}
