/// What the import of a batch needs to know about its document.
struct DocumentState {
    /// What the document states, and what follows from that.
    var settling = Settling()
    /// Whether all earlier features were new, so that these are likely to be new, too.
    var expectsNew = false
    /// Whether most features are likely to say what the table already holds, so that the server is asked before they are
    /// sent.
    var expectsUnchanged = false
}
