import Foundation
import SampleFeed

/// A seed that is printed, and set with `SEED=…` to replay a failure.
///
/// It repeats what a test chooses, not what the server's and the scheduler's timing make of it.
package func printedSeed(_ test: String = #function) -> UInt64 {
    let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? .random(in: 0...99_999_999)
    say("\(test): SEED=\(seed)")
    return seed
}

/// A generator with such a seed.
package func seededRandom(_ test: String = #function) -> SplitMix64 {
    SplitMix64(seed: printedSeed(test))
}
