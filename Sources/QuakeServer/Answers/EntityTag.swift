import Feed
import QuakeStore

/// The entity tag of an answer (RFC 9110, 8.8.3), made from the catalogue's state, the request, and the server's version and
/// settings.
///
/// The tag is weak, because an answer may contain the time at which it was written.
struct EntityTag: Equatable, CustomStringConvertible {
    let description: String

    init(_ answer: Answer, _ state: CatalogueState, isCompressed: Bool, _ settings: ServerSettings) {
        // Another version of the server may write the same answer differently. Answers also depend on these settings.
        let server =
            "\(settings.version)\n\(settings.namesAuthors)\n\(settings.maxEvents)\n\(settings.baseURL ?? "")"
        let request = "\(server)\n\(answer.key)"
        guard answer.past == nil else {
            self.init(of: Array(request.utf8), isCompressed: isCompressed)
            return
        }
        let position = state.position
        let text =
            "\(position.word)\n\(state.shape)\n\(state.beginning)\n\(request)\n\(answer.edition?(state) ?? "")"
        let beginning = "\(position.store.prefix(8))-\(position.token)-"
        self.init(beginning, of: Array(text.utf8), isCompressed: isCompressed)
    }

    /// A tag with a hash of `bytes`. The bytes are either the answer itself, or the request and the state on which the answer
    /// depends.
    init(_ beginning: String = "", of bytes: [UInt8], isCompressed: Bool) {
        description = "W/\"\(beginning)\(bytes.hashText)\(isCompressed ? "-gzip" : "")\""
    }

    /// Whether a value of `If-None-Match` contains this tag. The comparison is weak, as the header requires.
    ///
    /// - Parameter isThere: whether it is certain that the answer is not an error. Only then does `*` match this tag.
    func isNamed(by condition: String?, isThere: Bool) -> Bool {
        guard let condition else { return false }
        let own = description.dropFirst(2)
        return condition.split(separator: ",").contains { part in
            let part = part.trimmed
            return (isThere && part == "*") || (part.hasPrefix("W/") ? part.dropFirst(2) : part[...]) == own
        }
    }
}
