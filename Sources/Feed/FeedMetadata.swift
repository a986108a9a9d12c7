/// What a feed says about itself in its `metadata` member. All of it can be missing.
public struct FeedMetadata: Sendable, Equatable {
    /// When the document was made.
    public var generated: Instant?
    public var url: String?
    public var title: String?
    /// The number of features the feed believes to hold; the real one can differ.
    public var count: Int?

    public init() {}

    /// Reads a member that has been checked to be JSON. What is not of the expected type is left out: the
    /// features are what counts.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        var cursor = JSONCursor(bytes)
        guard cursor.next == UInt8(ascii: "{") else { return }
        var found = FeedMetadata()
        do {
            try cursor.readObject { (cursor, name) throws(JSONError) in
                switch (name.string(from: bytes), cursor.next) {
                case ("generated", UInt8(ascii: "0")...UInt8(ascii: "9")):
                    found.generated = try cursor.readNumber().integer.map(Instant.init(milliseconds:))
                case ("count", UInt8(ascii: "0")...UInt8(ascii: "9")):
                    found.count = try cursor.readNumber().integer.map { Int($0) }
                case ("url", UInt8(ascii: "\"")): found.url = try cursor.readString().string(from: bytes)
                case ("title", UInt8(ascii: "\"")): found.title = try cursor.readString().string(from: bytes)
                default: try cursor.skipValue()
                }
            }
            self = found
        } catch {
            // Not reached for JSON that has been checked; nothing is known then.
            return
        }
    }
}
