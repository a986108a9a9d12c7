/// One event of a document, as a feature of GeoJSON. Its bytes are borrowed, and are valid only inside the closure that gets the
/// feature.
///
/// For a document in the USGS's own format, the bytes are those of the document. For any other document, they are generated from
/// the event's text.
public struct RawFeature {
    /// The number of the event in the document, from 1.
    public let ordinal: Int
    /// The offset of the event in the (inflated) document, in bytes.
    public let offset: Int
    /// The event's size in the document, in bytes.
    public let size: Int
    /// The feature, or its first 64 KiB if it is larger than 1 MiB. If the event was already rejected, the feature has at most
    /// the id.
    public let bytes: UnsafeBufferPointer<UInt8>
    /// The event's text in the document, or the first 64 KiB of it; nil if the text is the feature itself.
    public var source: UnsafeBufferPointer<UInt8>?
    /// The number of the event's line in the document, from 1; nil if the document does not consist of lines.
    public var line: Int?
    public var rejection: Rejection?
    /// The deletion, if the event was withdrawn.
    public var deletion: StatedDeletion?

    /// Whether the scanner's `measure` read the feature, which means that it has the USGS's form.
    var isMeasured = false

    public var isOversized: Bool { source == nil && size > bytes.count }
}

extension Rejection {
    package func at(line: Int?) -> Rejection {
        line.map { Rejection(reason, "line \($0): \(message)") } ?? self
    }
}
