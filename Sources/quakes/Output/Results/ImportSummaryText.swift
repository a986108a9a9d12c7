import Logging
import QuakeStore

extension ImportSummary {
    /// One line for people.
    var text: String {
        if outcome == .notModified { return "\(strippingControlCharacters("\(source)")): not modified" }
        let always = [
            ("seen", counts.seen), ("inserted", counts.inserted), ("updated", counts.updated),
            ("unchanged", counts.unchanged), ("stale", counts.stale), ("rejected", counts.rejected),
        ]
        let deleted = [("superseded", counts.superseded), ("retracted", counts.retracted)]
        let counts = (always + deleted.filter { $0.1 > 0 }).map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        let name = strippingControlCharacters("\(source)")
        let run = run.map { "run \($0)" } ?? "dry run"
        let outcome = outcome == .done ? "" : " (\(outcome.rawValue))"
        return "\(name): \(counts) in \(duration.formatted), \(run)\(outcome)"
    }

    /// All counts, for a log.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "source": "\(source)", "outcome": "\(outcome.rawValue)", "seconds": "\(duration / .seconds(1))",
            "seen": "\(counts.seen)", "inserted": "\(counts.inserted)", "updated": "\(counts.updated)",
            "unchanged": "\(counts.unchanged)", "stale": "\(counts.stale)",
            "superseded": "\(counts.superseded)",
            "retracted": "\(counts.retracted)", "rejected": "\(counts.rejected)", "bytes": "\(counts.bytes)",
        ]
        if let run { metadata["run"] = "\(run)" }
        if let tokens { metadata["last_token"] = "\(tokens.upperBound)" }
        if let failure { metadata["error"] = "\(failure)" }
        return metadata
    }

    var json: String {
        var object = JSONObject()
        object.append("run", run)
        object.append("feed", feed)
        object.append("outcome", outcome.rawValue)
        object.append("seen", counts.seen)
        object.append("inserted", counts.inserted)
        object.append("updated", counts.updated)
        object.append("unchanged", counts.unchanged)
        object.append("stale", counts.stale)
        object.append("superseded", counts.superseded)
        object.append("retracted", counts.retracted)
        object.append("rejected", counts.rejected)
        object.append("bytes", counts.bytes)
        object.append("seconds", duration / .seconds(1))
        object.append("first_token", tokens?.lowerBound)
        object.append("last_token", tokens?.upperBound)
        return object.text
    }
}
