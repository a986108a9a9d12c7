import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips under a sanitizer (`make sanitize`), which needs many times the memory of the program itself.
    public static var measuresMemory: Self {
        .disabled(
            if: ProcessInfo.processInfo.environment["QUAKES_SANITIZER"] != nil,
            "memory means nothing under a sanitizer")
    }
}
