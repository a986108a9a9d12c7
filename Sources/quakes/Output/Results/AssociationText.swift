import Association
import Feed
import QuakeStore

extension Explanation {
    /// Such as `earthquake us1 of emsc:1, us1; us1 is shown, with the magnitude of us1`.
    var summary: String {
        let codes = earthquake.members.map(\.code)
        guard codes.count > 1 else { return "\(earthquake.code) is an earthquake by itself" }
        let magnitude = earthquake.magnitudeFrom.map { ", with the magnitude of \($0)" } ?? ""
        return
            "earthquake \(earthquake.code) of \(codes.map(\.text).joined(separator: ", ")); \(earthquake.preferred) is shown\(magnitude)"
    }
}

extension Explanation.Step {
    static var columns: [Column<Self>] {
        [
            Column("event", minimumWidth: 10, flexible: true) { $0.a.text },
            Column("with", minimumWidth: 10, flexible: true) { $0.b.text },
            Column("rule") { $0.rule.rawValue },
        ] + Difference.columns { $0.difference } + [
            Column("outcome", minimumWidth: 20, flexible: true) { $0.outcome.text }
        ]
    }

    var json: JSONObject {
        [
            "event": a.text, "with": b.text, "rule": rule.rawValue, "seconds": difference.seconds,
            "km": difference.kilometres,
            "magnitudes": difference.magnitudes, "cost": difference.cost, "outcome": outcome.text,
        ]
    }
}

extension Difference {
    static func columns<Row>(_ difference: @escaping @Sendable (Row) -> Difference) -> [Column<Row>] {
        [
            Column("s", .right) { rounded(difference($0).seconds, 1) },
            Column("km", .right) { rounded(difference($0).kilometres, 1) },
            Column("mag", .right) { difference($0).magnitudes.map { rounded($0, 1) } ?? "" },
            Column("cost", .right) { rounded(difference($0).cost, 1) },
        ]
    }
}

extension Explanation.Outcome {
    var text: String {
        switch self {
        case .joined: "joined"
        case .alreadyTogether: "already in the same earthquake"
        case .sameAgency(let a, let b): "\(a) and \(b) are from the same agency"
        case .different(let a, let b): "\(a) and \(b) were marked as different"
        case .outOfTheQuestion(let a, let b): "\(a) and \(b) are too far apart"
        }
    }
}

extension AssociationQueries.Doubtful {
    static var columns: [Column<Self>] {
        [
            Column("event", minimumWidth: 10, flexible: true) { $0.code },
            Column("earthquake", minimumWidth: 10, flexible: true) { $0.earthquake },
            Column("with", minimumWidth: 10, priority: 1, flexible: true) { $0.partner },
        ] + Difference.columns { $0.difference } + [
            Column("place", priority: 2, flexible: true) { $0.place ?? "" }
        ]
    }

    var json: JSONObject {
        [
            "event": code, "earthquake": earthquake, "with": partner, "seconds": difference.seconds,
            "km": difference.kilometres, "magnitudes": difference.magnitudes, "cost": difference.cost,
            "place": place,
        ]
    }
}
