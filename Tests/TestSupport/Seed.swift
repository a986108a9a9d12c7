import Foundation
import SampleFeed

/// Returns a random seed, and prints it. To replay a failure, set the environment variable SEED to the printed seed.
///
/// The seed repeats the test's choices, but not the timing of the server and the scheduler.
package func printedSeed(_ test: String = #function) -> UInt64 {
    let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? .random(in: 0...99_999_999)
    say("\(test): SEED=\(seed)")
    return seed
}

/// A generator with a seed from `printedSeed`.
package func seededRandom(_ test: String = #function) -> SplitMix64 {
    SplitMix64(seed: printedSeed(test))
}
