import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips the test under a sanitizer (`make sanitize`), because a sanitizer multiplies the program's memory.
    public static var measuresMemory: Self { withoutSanitizer("memory cannot be measured under a sanitizer") }

    /// Skips the test under a sanitizer, because the sanitizer's thread never sleeps for long.
    public static var countsWakeups: Self { withoutSanitizer("a sanitizer's own thread also wakes up") }

    private static func withoutSanitizer(_ reason: Comment) -> Self {
        .disabled(if: ProcessInfo.processInfo.environment["QUAKES_SANITIZER"] != nil, reason)
    }
}
