/// The waits between the attempts of a delivery. Standard Webhooks defines the same waits: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h,
/// 14 h, 20 h and 24 h, about three days in total.
public enum AttemptSchedule {
    static let waits: [Duration] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map {
        .seconds($0)
    }

    /// The largest number of attempts for one message, including the first one.
    public static let attempts = waits.count + 1

    /// How long to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - attempts: the number of attempts so far, at least 1.
    ///   - random: a number from 0 to 1, which lengthens the wait by up to a tenth. So messages that failed together are not all
    ///     retried together.
    /// - Returns: nil if there is no further attempt: the failure is final, or all attempts were used.
    public static func wait(after failure: DeliveryFailure, attempts: Int, random: Double) -> Duration? {
        guard !failure.isFinal, waits.indices.contains(attempts - 1) else { return nil }
        let wait = waits[attempts - 1] * (1 + random / 10)
        return max(wait, failure.retryAfter ?? .zero)
    }
}
