/// Why one feature of a document was not accepted.
public struct Rejection: Error, Sendable, Equatable {
    public enum Reason: String, Sendable, CaseIterable {
        /// Not well-formed JSON, or not a feature at all.
        case syntax
        /// Invalid UTF-8, a lone surrogate, or a NUL character.
        case encoding
        /// A required member is missing or null.
        case missing
        /// A member does not have the JSON type that its column needs.
        case type
        /// A value is outside the range of its column or its quantity.
        case range
        /// A member occurs twice.
        case duplicate
        /// The feature is larger than 1 MiB, or one of its texts is longer than 8 KiB.
        case size
        /// The feature is well-formed and has the right types, but the server refused it.
        case refused
        /// A deletion that does not say which event was deleted.
        case unnamed
        /// An existing event in a list of deleted events, or a withdrawn event beyond the first 100,000 of a document.
        case status
    }

    public let reason: Reason
    /// The reason in words.
    public let message: String

    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    init(_ error: JSONError, member: String?) {
        let place = member.map { "\($0): " } ?? ""
        let byte = error.isRefusal ? "" : " at byte \(error.offset) of the feature"
        self.init(error.reason, place + error.text + byte)
    }
}
