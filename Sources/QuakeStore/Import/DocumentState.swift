import Feed

/// What the import of a batch has to know of its document.
struct DocumentState {
    /// When the document was made; nil while that is not known.
    var generated: Instant?
    /// No batch of it was imported yet.
    var isBeginning = false
    /// All features before were new: these are likely to be.
    var expectsNew = false
    /// Whether the document may settle, so that its features are noted.
    var notesPresence = false
    /// Set with the last batch of a document that settles.
    var settlement: Settlement?
}
