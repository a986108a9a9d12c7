/// That an event is gone: a service deleted it, as a row of its answer to `includedeleted=only` says, or lists it as one that never
/// was.
public struct StatedDeletion: Sendable, Equatable {
    public let code: String
    /// When it was deleted: what the row calls `updated`. nil if nobody says so; then the document was made later.
    public let at: Instant?
    /// Host of the event's own URL; nil if the row has none.
    public let service: String?

    public init(code: String, at: Instant?, service: String? = nil) {
        (self.code, self.at, self.service) = (code, at, service)
    }

    /// Reads a row: a feature that may lack nearly everything that an event has. Nearly half of the USGS's name nobody.
    ///
    /// - Throws: `Rejection`, with the reason `unnamed` if it does not say which event was deleted, and with `status` if it is
    ///   that of an event that is there.
    public init(_ feature: UnsafeBufferPointer<UInt8>) throws(Rejection) {
        if let fault = JSONCursor.fault(in: feature) { throw Rejection(fault, member: nil) }
        let row: Row
        do {
            row = try Row(feature)
        } catch {
            throw Rejection(error, member: nil)
        }
        guard row.isOfDeletion else { throw Rejection(.status, "the event is not deleted") }
        guard let code = row.code, !code.isEmpty else {
            throw Rejection(.unnamed, "it does not say which event was deleted")
        }
        guard code.utf8.count <= 64 else { throw Rejection(.range, "id is longer than 64 bytes") }
        guard let updated = row.updated else { throw Rejection(.missing, "updated is missing") }
        self.init(code: code, at: updated, service: FeedIdentity.host(of: row.url))
    }
}

/// What a row says that matters.
private struct Row {
    private var texts: [String: String] = [:]
    private(set) var updated: Instant?
    private var hasMagnitude = false

    init(_ feature: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var cursor = JSONCursor(feature)
        try cursor.readObject { (cursor, name) throws(JSONError) in
            switch (name.string(from: feature), cursor.next) {
            case ("id", _): try readText("id", &cursor)
            case ("properties", UInt8(ascii: "{")):
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    try readProperty(name.string(from: feature), &cursor)
                }
            default: try cursor.skipValue()
            }
        }
    }

    private mutating func readProperty(_ name: String, _ cursor: inout JSONCursor) throws(JSONError) {
        switch (name, cursor.next) {
        case ("net", _), ("code", _), ("ids", _), ("url", _), ("status", _): try readText(name, &cursor)
        case ("updated", UInt8(ascii: "0")...UInt8(ascii: "9")):
            updated = try cursor.readNumber().timestamp.map(Instant.init(milliseconds:))
        case ("mag", let byte):
            hasMagnitude = byte != UInt8(ascii: "n")
            try cursor.skipValue()
        default: try cursor.skipValue()
        }
    }

    /// A text that no column could hold, or a value of another type, is left out.
    private mutating func readText(_ name: String, _ cursor: inout JSONCursor) throws(JSONError) {
        guard cursor.next == UInt8(ascii: "\"") else { return try cursor.skipValue() }
        cursor.sawNUL = false
        let text = try cursor.readString()
        if !cursor.sawNUL { texts[name] = text.string(from: cursor.bytes) }
    }

    var url: String? { texts["url"] }

    /// A service that does not know `includedeleted` gives the events that are there.
    var isOfDeletion: Bool { texts["status"].map { $0.lowercased() == "deleted" } ?? !hasMagnitude }

    /// An event may have had several ids: of these, it is not said which one it had last.
    var code: String? {
        if let id = texts["id"] { return id }
        if let net = texts["net"], let code = texts["code"] { return net + code }
        let ids = texts["ids"]?.split(separator: ",") ?? []
        return ids.count == 1 ? String(ids[0]) : nil
    }
}
