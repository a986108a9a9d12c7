/// SplitMix64 (Steele, Lea, Flood 2014), a small, seeded generator that gives the same numbers on every machine. Each event uses
/// its own stream, so its random numbers do not depend on other events.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64, stream: UInt64 = 0) {
        state = seed
        state = next() ^ stream &* 0xD6E8_FEB8_6659_FD93
        state = next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    /// A random number from 0 up to, but not including, `bound`.
    package mutating func below(_ bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// True with a probability of `part` in `whole`.
    package mutating func chance(_ part: Int, in whole: Int) -> Bool { below(whole) < part }

    /// A random number from 0 up to, but not including, 1.
    package mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
