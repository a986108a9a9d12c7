extension BinaryInteger {
    /// Divides by a positive number and rounds down, so that the remainder is never negative.
    @inlinable
    package func divided(by divisor: Self) -> (whole: Self, rest: Self) {
        let (whole, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (whole - 1, rest + divisor) : (whole, rest)
    }
}
