/// The id of a feature that can't be read as an event, such as a rejected feature or a deletion; nil when the id can't be read.
///
/// The id of a rejected feature shows that an event is in a document, even though the event could not be imported.
public func readableCode(of feature: UnsafeBufferPointer<UInt8>) -> String? {
    var cursor = JSONCursor(feature)
    var code: String?
    do {
        try cursor.readObject { (cursor, name) throws(JSONError) in
            if name.equals("id", in: feature), cursor.next == UInt8(ascii: "\"") {
                code = try cursor.readString().string(from: feature)
            } else {
                try cursor.skipValue()
            }
        }
    } catch {
        // An error after the id does not matter.
    }
    return code.flatMap { $0.unicodeScalars.contains("\0") ? nil : $0 }
}
