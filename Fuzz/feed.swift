// The fuzzer's entry point; see scripts/fuzz. `brokenPromise` is in Tests/FeedTests/Features/ScanOutcome.swift.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let document = Array(UnsafeBufferPointer(start: start, count: count))
    if let promise = brokenPromise(for: document) { fatalError(promise) }
    return 0
}
