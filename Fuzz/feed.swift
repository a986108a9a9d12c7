// The fuzzer's entry point; see scripts/fuzz. Tests/FeedTests/Features/ScanOutcome.swift says what must hold.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let document = Array(UnsafeBufferPointer(start: start, count: count))
    if let promise = brokenPromise(for: document) { fatalError(promise) }
    return 0
}
