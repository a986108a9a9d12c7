import Feed

/// What the import of a batch needs to know about its document.
struct DocumentState {
    /// When the document was generated; nil while that is unknown.
    var generated: Instant?
    /// The name of the feed, such as `all_day`; empty if the document does not say.
    var feed = ""
    /// Whether all earlier features were new, so that these are likely to be new, too.
    var expectsNew = false
    /// Whether most features are likely to say what the table already holds, so that the server is asked before they are
    /// sent.
    var expectsUnchanged = false
    /// Whether the document may settle, which requires that its features are noted.
    var notesPresence = false
    /// Set with the last batch of a document that settles.
    var settlement: Settlement?
}
