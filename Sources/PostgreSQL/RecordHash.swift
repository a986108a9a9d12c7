/// The number that PostgreSQL's `hash_record_extended(row(…), seed)` computes from a row, so that a client and the server can
/// find out whether their rows are equal without sending a row.
///
/// Append the row's values in the order of its columns. Hash partitions depend on these functions, so every version of PostgreSQL
/// since 14 computes the same number on machines with the same byte order. This type computes the number of a little-endian
/// server. PostgreSQL's documentation does not promise that the numbers stay the same, so first compare the number of a known row
/// with the server's number.
///
/// Two different rows have the same number with a probability of about 1 in 2⁶⁴, if the seed is random. There is one exception:
/// with any seed, the server folds an `int8` or a `timestamptz` into 32 bits before hashing it. Where that matters, hash the
/// bytes of `timestamptz_send` instead.
///
/// Source: PostgreSQL's `common/hashfn.c`, `access/hash/hashfunc.c`, `utils/adt/rowtypes.c` and `utils/adt/arrayfuncs.c`.
public struct RecordHash {
    public private(set) var value: UInt64 = 0
    private let seed: UInt64

    @inline(__always)
    public init(seed: UInt64) {
        self.seed = seed
    }

    @inline(__always)
    private mutating func combine(_ hash: UInt64) {
        value = value &* 31 &+ hash
    }

    @inline(__always)
    public mutating func appendNull() {
        combine(0)
    }

    /// A `text` in UTF-8, or a `bytea`.
    @inline(__always)
    public mutating func append(bytes: UnsafeBufferPointer<UInt8>) {
        combine(Self.hash(UnsafeRawBufferPointer(bytes), seed))
    }

    /// A `double precision`. 0 and −0 are equal, and have the same number.
    @inline(__always)
    public mutating func append(_ number: Double) {
        if number == 0 { return combine(seed) }
        let bits = (number.isNaN ? Double.nan : number).bitPattern
        var state = JenkinsState(count: 8, seed: seed)
        state.a &+= UInt32(truncatingIfNeeded: bits)
        state.b &+= UInt32(truncatingIfNeeded: bits >> 32)
        combine(state.final())
    }

    @inline(__always)
    public mutating func append(_ integer: Int32) {
        var state = JenkinsState(count: 4, seed: seed)
        state.a &+= UInt32(bitPattern: integer)
        combine(state.final())
    }

    @inline(__always)
    public mutating func append(_ flag: Bool) {
        append(Int32(flag ? 1 : 0))
    }

    /// The eight bytes that `timestamptz_send` or `int8send` returns for a value.
    @inline(__always)
    public mutating func append(sent value: Int64) {
        withUnsafeBytes(of: value.bigEndian) { combine(Self.hash($0, seed)) }
    }

    /// A `text[]` without nulls: `body` calls its argument with the bytes of each element.
    @inline(__always)
    public mutating func appendTextArray(_ body: ((UnsafeBufferPointer<UInt8>) -> Void) -> Void) {
        var array: UInt64 = 1
        let seed = seed
        body { element in array = array &* 31 &+ Self.hash(UnsafeRawBufferPointer(element), seed) }
        combine(array)
    }

    @inline(__always)
    private static func hash(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
        var state = JenkinsState(count: bytes.count, seed: seed)
        var start = 0
        while bytes.count - start >= 12 {
            state.a &+= bytes.word(at: start)
            state.b &+= bytes.word(at: start + 4)
            state.c &+= bytes.word(at: start + 8)
            state.mix()
            start += 12
        }
        let rest = bytes.count - start
        if rest >= 8 {
            state.a &+= bytes.word(at: start)
            state.b &+= bytes.word(at: start + 4)
            // The lowest byte is reserved for the length.
            state.c &+= bytes.word(at: start + 8, count: rest - 8) << 8
        } else if rest >= 4 {
            state.a &+= bytes.word(at: start)
            state.b &+= bytes.word(at: start + 4, count: rest - 4)
        } else {
            state.a &+= bytes.word(at: start, count: rest)
        }
        return state.final()
    }
}

/// The state of Bob Jenkins' hash function lookup3 (http://burtleburtle.net/bob/hash/doobs.html), as PostgreSQL uses it.
private struct JenkinsState {
    var a, b, c: UInt32

    @inline(__always)
    init(count: Int, seed: UInt64) {
        a = 0x9E37_79B9 &+ UInt32(truncatingIfNeeded: count) &+ 3_923_095
        (b, c) = (a, a)
        guard seed != 0 else { return }
        a &+= UInt32(truncatingIfNeeded: seed >> 32)
        b &+= UInt32(truncatingIfNeeded: seed)
        mix()
    }

    @inline(__always)
    mutating func mix() {
        Self.mix(&a, &c, b, 4)
        Self.mix(&b, &a, c, 6)
        Self.mix(&c, &b, a, 8)
        Self.mix(&a, &c, b, 16)
        Self.mix(&b, &a, c, 19)
        Self.mix(&c, &b, a, 4)
    }

    @inline(__always)
    private static func mix(_ x: inout UInt32, _ y: inout UInt32, _ z: UInt32, _ bits: UInt32) {
        x = (x &- y) ^ y.rotated(bits)
        y &+= z
    }

    @inline(__always)
    mutating func final() -> UInt64 {
        Self.finish(&c, b, 14)
        Self.finish(&a, c, 11)
        Self.finish(&b, a, 25)
        Self.finish(&c, b, 16)
        Self.finish(&a, c, 4)
        Self.finish(&b, a, 14)
        Self.finish(&c, b, 24)
        return UInt64(b) << 32 | UInt64(c)
    }

    @inline(__always)
    private static func finish(_ x: inout UInt32, _ y: UInt32, _ bits: UInt32) {
        x = (x ^ y) &- y.rotated(bits)
    }
}

extension UInt32 {
    @inline(__always)
    fileprivate func rotated(_ bits: UInt32) -> UInt32 { self << bits | self >> (32 - bits) }
}

extension UnsafeRawBufferPointer {
    /// Four bytes in little-endian order.
    @inline(__always)
    fileprivate func word(at start: Int) -> UInt32 {
        UInt32(littleEndian: loadUnaligned(fromByteOffset: start, as: UInt32.self))
    }

    /// `count` bytes, at most three, in little-endian order.
    @inline(__always)
    fileprivate func word(at start: Int, count: Int) -> UInt32 {
        var word: UInt32 = 0
        for index in 0..<count { word |= UInt32(self[start + index]) << UInt32(8 * index) }
        return word
    }
}
