/// One event of a document, as a feature of GeoJSON. Its bytes are borrowed, and valid only inside the closure that gets it.
///
/// A feed in the USGS's own format has these bytes itself. For any other document, they are made from its text.
public struct RawFeature {
    /// From 1.
    public let ordinal: Int
    /// Where it begins, in bytes from the start of the (inflated) document.
    public let offset: Int
    /// In the document, in bytes.
    public let size: Int
    /// The feature, or the first 64 KiB of one over 1 MiB. If the event was rejected already, no more than its id.
    public let bytes: UnsafeBufferPointer<UInt8>
    /// The event's text in the document, or the first 64 KiB of it; nil if that is the feature.
    public var source: UnsafeBufferPointer<UInt8>?
    /// The line of the document, from 1; nil if it is not made of lines.
    public var line: Int?
    public var rejection: Rejection?
    /// Set if the event was withdrawn.
    public var deletion: StatedDeletion?

    /// Whether `measure` of the scanner read it: then it is the USGS's.
    var isMeasured = false

    public var isOversized: Bool { source == nil && size > bytes.count }
}

extension Rejection {
    package func at(line: Int?) -> Rejection {
        line.map { Rejection(reason, "line \($0): \(message)") } ?? self
    }
}
