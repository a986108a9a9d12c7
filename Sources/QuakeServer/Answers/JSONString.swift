import Feed

/// A text as a string of JSON, quotes included.
func jsonString(_ text: String) -> String {
    var (text, result) = (text, [UInt8]())
    text.withUTF8 { result.append(json: UnsafeRawBufferPointer($0)) }
    return String(decoding: result, as: UTF8.self)
}
