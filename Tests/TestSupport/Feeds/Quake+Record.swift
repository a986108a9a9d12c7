// The fuzzer in Fuzz/ compiles this file together with Feed's sources.

#if canImport(Feed)
    import Feed
#endif

extension Quake {
    /// Copies a record out of the bytes of its feature. The record must have all required fields.
    public init(_ record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>) {
        try! self.init { Value(record[$0], of: record, from: bytes) }
    }
}

extension Quake.Value {
    fileprivate init(
        _ value: QuakeRecord.Value, of record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>
    ) {
        switch value {
        case .null: self = .null
        case .text(let text): self = .text(text.string(from: bytes))
        case .number(let number): self = .number(number)
        case .integer(let integer): self = .integer(integer)
        case .flag(let flag): self = .flag(flag)
        case .time(let milliseconds): self = .time(Instant(milliseconds: milliseconds))
        case .list(let list):
            var elements: [String] = []
            list.forEachElement(in: bytes) { elements.append(String(decoding: $0, as: UTF8.self)) }
            self = .list(elements)
        case .code: self = .text(record.withCode(in: bytes) { String(decoding: $0, as: UTF8.self) })
        case .extra:
            var object: [UInt8] = []
            record.appendExtra(to: &object, from: bytes)
            self = .json(String(decoding: object, as: UTF8.self))
        }
    }
}
