/// The feed's information about itself, from its member `metadata`. Any of the values may be missing.
public struct FeedMetadata: Sendable, Equatable {
    public var generated: Instant?
    public var url: String?
    public var count: Int?

    public init() {}

    /// Reads the member, which must be valid JSON. A value of an unexpected type, or a value that no column could hold, is left
    /// out, because only the features matter.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        var cursor = JSONCursor(bytes)
        guard cursor.next == UInt8(ascii: "{") else { return }
        var found = FeedMetadata()
        do {
            try cursor.readObject { (cursor, name) throws(JSONError) in
                switch (name.string(from: bytes), cursor.next) {
                case ("generated", UInt8(ascii: "0")...UInt8(ascii: "9")):
                    found.generated = try cursor.readNumber().timestamp.map(Instant.init(milliseconds:))
                case ("count", UInt8(ascii: "0")...UInt8(ascii: "9")):
                    found.count = try cursor.readNumber().integer.map(Int.init)
                case ("url", UInt8(ascii: "\"")): found.url = try cursor.readStringWithoutNUL()
                default: try cursor.skipValue()
                }
            }
            self = found
        } catch {
            return
        }
    }
}

extension JSONCursor {
    /// Reads a string; nil if it contains U+0000, which PostgreSQL's text does not allow.
    fileprivate mutating func readStringWithoutNUL() throws(JSONError) -> String? {
        sawNUL = false
        let text = try readString()
        return sawNUL ? nil : text.string(from: bytes)
    }
}
