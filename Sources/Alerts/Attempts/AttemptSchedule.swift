/// When a failed delivery is attempted again. The waits are those of Standard Webhooks: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h,
/// 14 h, 20 h and 24 h, which is three days in all.
public enum AttemptSchedule {
    static let waits: [Duration] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map {
        .seconds($0)
    }

    /// The longest wait that a receiver may ask for.
    package static let retryAfterLimit = Duration.seconds(86_400)

    /// The most attempts of one message, the first one included.
    public static let attempts = waits.count + 1

    /// How long to wait after a failure.
    ///
    /// - Parameters:
    ///   - attempts: how many there were, from 1.
    ///   - random: from 0 up to 1. It lengthens the wait by up to a tenth, so that messages that failed together do not all
    ///     come back together.
    /// - Returns: nil if the message is given up.
    public static func wait(after failure: DeliveryFailure, attempts: Int, random: Double) -> Duration? {
        guard !failure.isFinal, waits.indices.contains(attempts - 1) else { return nil }
        let wait = waits[attempts - 1] * (1 + random / 10)
        return max(wait, min(failure.retryAfter ?? .zero, retryAfterLimit))
    }
}
