/// A withdrawn event. It is either a row of a service's response to `includedeleted=only`, or an event that a document lists as
/// never having existed.
public struct StatedDeletion: Sendable, Equatable {
    public let code: String
    /// The time of the deletion, which is `updated` in a row; nil if a document does not give it. The importer then uses a later
    /// time, such as the time of the document.
    public let at: Instant?
    /// The host of the event's URL; nil if the row has no URL.
    public let service: String?

    public init(code: String, at: Instant?, service: String? = nil) {
        (self.code, self.at, self.service) = (code, at, service)
    }

    /// Reads a row: a feature that may lack nearly everything that an event has. Nearly half of the USGS's rows do not even say
    /// which event was deleted.
    ///
    /// - Throws: `Rejection`, with the reason `unnamed` if the row does not say which event was deleted, and with `status` if the
    ///   row is that of an existing event.
    public init(_ feature: UnsafeBufferPointer<UInt8>) throws(Rejection) {
        if let fault = JSONCursor.fault(in: feature) { throw Rejection(fault, member: nil) }
        guard let row = FeatureMembers(feature) else {
            throw Rejection(
                JSONError(reason: .syntax, text: "expected an object", offset: 0), member: nil)
        }
        guard row.isOfDeletion else { throw Rejection(.status, "the event is not deleted") }
        guard let code = row.code, !code.isEmpty else {
            throw Rejection(.unnamed, "it does not say which event was deleted")
        }
        try Self.check(code)
        guard let updated = row.updated else { throw Rejection(.missing, "updated is missing") }
        let service = FeedIdentity.host(of: row.knownText("url"))
        guard service?.utf8.count ?? 0 <= 253 else {
            throw Rejection(.range, "url: a host has 253 bytes at most")
        }
        self.init(code: code, at: updated, service: service)
    }

    /// Checks that an event can have the code.
    ///
    /// - Throws: `Rejection` if the code is longer than 64 bytes or contains U+0000.
    static func check(_ code: String) throws(Rejection) {
        guard code.utf8.count <= Quake.codeLimit else {
            throw Rejection(.range, "id is longer than 64 bytes")
        }
        guard !code.utf8.contains(0) else { throw Rejection(.encoding, "id: NUL character") }
    }
}

extension FeatureMembers {
    /// A text; nil for a value of another type, or a text that no column could hold.
    fileprivate func knownText(_ name: StaticString) -> String? {
        text(name).flatMap { $0.utf8.contains(0) ? nil : $0 }
    }

    fileprivate var updated: Instant? {
        guard let value = value("updated"), bytes[value.lowerBound].isDigit else { return nil }
        var cursor = JSONCursor(bytes.extracting(value))
        do { return try cursor.readNumber().timestamp.map(Instant.init(milliseconds:)) } catch { return nil }
    }

    /// Whether the event was deleted. A service that does not support `includedeleted` sends existing events.
    fileprivate var isOfDeletion: Bool {
        knownText("status").map { $0.lowercased() == "deleted" } ?? (value("mag") == nil)
    }

    /// The event's code. If the row has only a list of ids, the list must contain exactly one id, because the row does not say
    /// which of several ids the event had last.
    fileprivate var code: String? {
        if let id = readableCode(of: bytes) { return id }
        if let net = knownText("net"), let code = knownText("code") { return net + code }
        let ids = knownText("ids")?.split(separator: ",") ?? []
        return ids.count == 1 ? String(ids[0]) : nil
    }
}
