/// The words by which feeds say in `status` that a person has reviewed an event. The view `notify.event` has the same words.
public enum ReviewStatus {
    private static let reviewed: Set = ["reviewed", "manual", "confirmed", "final"]

    /// - Parameter status: an event's `status`. The case of letters does not matter: ComCat also has `REVIEWED`.
    public static func isReviewed(_ status: String?) -> Bool {
        status.map { reviewed.contains($0.lowercased()) } ?? false
    }
}
