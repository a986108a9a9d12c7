import Feed
import Logging
import QuakeStore

extension ImportSummary {
    var text: String {
        let name = strippingControlCharacters(source.shortName ?? "\(source)")
        if outcome == .notModified { return "\(name): not modified" }
        let always = [
            ("seen", counts.seen), ("inserted", counts.inserted), ("updated", counts.updated),
            ("unchanged", counts.unchanged), ("stale", counts.stale), ("rejected", counts.rejected),
        ]
        let deleted = [("superseded", counts.superseded), ("retracted", counts.retracted)]
        let list = (always + deleted.filter { $0.1 > 0 }).map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        let number = run.map { "run \($0)" } ?? "dry run"
        let outcome = outcome == .done ? "" : " (\(outcome.rawValue))"
        let rejects = run.flatMap { counts.rejected > 0 ? "; see quakes rejects --run \($0)" : nil } ?? ""
        return "\(name): \(list) in \(duration.formatted), \(number)\(outcome)\(rejects)"
    }

    /// The reason for a failure; nil if there was none.
    private var error: String? {
        failure.map { $0 is CancellationError ? "cancelled" : "\($0)" }
    }

    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "source": "\(source)", "outcome": "\(outcome.rawValue)",
            "seconds": .stringConvertible(duration / .seconds(1)),
        ]
        for (name, count) in ImportCounts.named {
            metadata[name] = .stringConvertible(counts[keyPath: count])
        }
        let numbers = ["run": run, "first_token": tokens?.lowerBound, "last_token": tokens?.upperBound]
        for case (let name, let number?) in numbers { metadata[name] = .stringConvertible(number) }
        if let error { metadata["error"] = "\(error)" }
        return metadata
    }

    var json: JSONObject {
        var object: JSONObject = [
            "run": run, "source": "\(source)", "feed": feed, "outcome": outcome.rawValue,
        ]
        for (name, count) in ImportCounts.named { object.append(name, counts[keyPath: count]) }
        object.append("seconds", duration / .seconds(1))
        object.append("first_token", tokens?.lowerBound)
        object.append("last_token", tokens?.upperBound)
        object.append("error", error)
        if EventService(source) != nil { object.append("cursor", cursor) }
        return object
    }
}
