import Feed
import QuakeStore

struct Status: Sendable {
    let catalogue: CatalogueStatus
    let imports: ImportStatus
    let history: HistoryStatus
    let notify: NotifyStatus

    /// The greatest age and lag that are accepted; nil for no limit.
    struct Limits {
        var age: Duration?
        var documentAge: Duration?
        var lag: Duration?
    }

    /// One line for each source or reader that exceeds a limit. Sources that are not imported regularly count only if they are
    /// named: a file, for example, is imported once and does not become outdated.
    func complaints(_ limits: Limits, asked: [FeedSource]) -> [String] {
        var complaints: [String] = []
        let sources = imports.sources.filter { $0.isMonitored || !asked.isEmpty }
        if let maxAge = limits.age {
            for source in sources where source.age.map({ $0 > maxAge }) ?? true {
                let last = source.age.map { "was last imported successfully \($0.rough) ago" }
                let remedy =
                    source.every == nil ? "; if it is no longer imported: quakes forget \(source.label)" : ""
                complaints.append(
                    "\(source.label) \(last ?? "has never been imported successfully")\(remedy)")
            }
        }
        if limits.age != nil || limits.documentAge != nil, asked.isEmpty, sources.isEmpty {
            complaints.append(
                imports.sources.isEmpty
                    ? "no feed has ever been imported"
                    : "no source is imported regularly; name the sources to check")
        }
        if let maxAge = limits.documentAge {
            for source in sources {
                guard let age = source.documentAge, age > maxAge else { continue }
                complaints.append(
                    source.sweeps == nil
                        ? "the newest document of \(source.label) was made \(age.rough) ago"
                        : "the sweeps of \(source.label) are complete only up to \(age.rough) ago")
            }
        }
        if let maxLag = limits.lag {
            for reader in history.readers where reader.behind > maxLag || reader.isBeforeHorizon {
                // A reader that was silent for 24 hours may have been removed. quakes prune keeps no history for it.
                let remedy =
                    reader.silence > .seconds(86_400)
                    ? ", last seen \(reader.silence.rough) ago; if it was removed: quakes forget --reader \(reader.name)"
                    : ""
                let state =
                    reader.isBeforeHorizon
                    ? "needs a fresh snapshot, because changes that it lacks were pruned"
                    : "is \(reader.behind.rough) behind"
                complaints.append("reader \(reader.name) \(state)\(remedy)")
            }
        }
        return complaints
    }

    // MARK: Text

    func text(at terminal: Terminal) -> String {
        var parts = [catalogueText]
        if !imports.sources.isEmpty {
            parts.append(imports.sources.table(ImportStatus.Source.columns, at: terminal) + sweeps + errors)
        }
        let rejects = imports.rejects == 0 ? "" : "; \(imports.rejects) different rejects (quakes rejects)"
        parts.append(
            "token \(history.token), committed \(history.committedAt.instant.shortText) UTC; history begins after token \(history.horizon)\(rejects)\n"
        )
        if !history.readers.isEmpty {
            parts.append(history.readers.table(HistoryStatus.Reader.columns, at: terminal))
        }
        if !notify.receivers.isEmpty { parts.append(notify.text) }
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
            the newest: \(newest.time.shortText) UTC, \(newest.age.ago)\(event.isEmpty ? "" : ": \(event)") \
            (\(strippingControlCharacters(newest.code)))

            """
    }

    /// The time up to which each event service was swept, one line per service.
    private var sweeps: String {
        imports.sources.compactMap { source in
            source.sweeps.map { sweeps in
                let cursor =
                    sweeps.cursor.map { "swept up to \($0.shortText) UTC" } ?? "no complete sweep yet"
                return strippingControlCharacters(
                    "\(source.label): \(cursor); \(sweeps.count) sweeps in 24 h: \(sweeps.inserted) inserted, \(sweeps.updated) updated, \(sweeps.deleted) deleted"
                ) + "\n"
            }
        }.joined()
    }

    /// The errors of the last runs, one line each, because they are too long for a column.
    private var errors: String {
        imports.sources.compactMap { source in
            source.error.map {
                strippingControlCharacters("\(source.label), run \(source.run): \($0)") + "\n"
            }
        }.joined()
    }

    // MARK: JSON

    var json: JSONObject {
        [
            "events": catalogue.roundedCount, "events_is_estimate": catalogue.isEstimate,
            "newest_event": catalogue.newest?.code, "newest_event_time": catalogue.newest?.time,
            "newest_event_age_seconds": catalogue.newest.map { $0.age / .seconds(1) },
            "token": history.token, "committed_at": history.committedAt.description,
            "horizon": history.horizon, "sources": imports.sources.map(\.json), "rejects": imports.rejects,
            "rejected": imports.rejected, "readers": history.readers.map(\.json),
            "receivers": notify.receivers.map(\.json),
        ]
    }
}

extension CatalogueStatus {
    /// The number of events. An estimate is rounded to three digits, because its other digits have no meaning.
    var roundedCount: Int {
        guard isEstimate else { return count }
        var scale = 1
        while count / scale >= 1000 { scale *= 10 }
        return (count + scale / 2) / scale * scale
    }
}

extension ImportStatus.Source {
    fileprivate static var columns: [Column<Self>] {
        [
            Column("source", minimumWidth: 20, flexible: true, widest: 1000, breaking: .middle) { $0.label },
            Column("data of (UTC)") { $0.generated?.shortText ?? "" },
            Column("checked (UTC)", priority: 1) { $0.freshAt?.shortText ?? "never" },
            Column("age", .right) { $0.age?.rough ?? "" },
            Column("outcome") { $0.outcome },
            Column("run", .right, priority: 2) { "\($0.run)" },
            Column("seen", .right, priority: 3) { "\($0.seen)" },
            Column("inserted", .right, priority: 3) { "\($0.inserted)" },
            Column("updated", .right, priority: 3) { "\($0.updated)" },
            Column("deleted", .right, priority: 3) { "\($0.deleted)" },
            Column("rejected", .right, priority: 2) { "\($0.rejected)" },
        ]
    }

    fileprivate var json: JSONObject {
        [
            "source": name, "label": label, "monitored": isMonitored,
            "every_seconds": every.map { $0 / .seconds(1) }, "fresh_at": freshAt,
            "age_seconds": age.map { $0 / .seconds(1) }, "generated": generated,
            "document_age_seconds": documentAge.map { $0 / .seconds(1) }, "run": run, "outcome": outcome,
            "started": started, "seen": seen, "inserted": inserted, "updated": updated, "deleted": deleted,
            "rejected": rejected, "error": error, "sweeps": sweeps.map(\.json),
        ]
    }
}

extension ImportStatus.Sweeps {
    fileprivate var json: JSONObject {
        [
            "cursor": cursor, "count_24h": count, "inserted_24h": inserted, "updated_24h": updated,
            "deleted_24h": deleted,
        ]
    }
}

extension HistoryStatus.Reader {
    fileprivate static var columns: [Column<Self>] {
        [
            Column("reader", minimumWidth: 10, flexible: true) { $0.name },
            Column("token", .right) { "\($0.token)" },
            Column("behind", .right) { $0.behind.rough },
            Column("tokens behind", .right) { "\($0.tokensBehind)" },
            Column("seen (UTC)") { $0.seenAt.shortText },
            Column("note", priority: 1) { $0.isBeforeHorizon ? "needs a fresh snapshot" : "" },
        ]
    }

    fileprivate var json: JSONObject {
        [
            "name": name, "token": token, "seen_at": seenAt, "tokens_behind": tokensBehind,
            "seconds_behind": behind / .seconds(1), "needs_snapshot": isBeforeHorizon,
        ]
    }
}
