import Feed
import QuakeStore

/// The entity tag of an answer (RFC 9110, 8.8.3): the state of the catalogue, the request, and the
/// server that writes it.
///
/// Weak, because an answer may contain the time of its writing.
struct EntityTag: Equatable, CustomStringConvertible {
    let description: String

    init(_ answer: Answer, _ state: CatalogueState, isCompressed: Bool, _ settings: ServerSettings) {
        // Another version may write it in another way.
        let request = "\(settings.version)\n\(settings.namesAuthors)\n\(answer.key)"
        guard answer.past == nil else {
            self.init(of: request.utf8, isCompressed: isCompressed)
            return
        }
        let position = state.position
        let text =
            "\(position.word)\n\(state.shape)\n\(state.beginning)\n\(request)\n\(answer.edition?(state) ?? "")"
        let beginning = "\(position.store.prefix(8))-\(position.token)-"
        self.init(beginning, of: text.utf8, isCompressed: isCompressed)
    }

    /// The tag of something that never changes while the program runs, or of what these bytes say, within a state.
    init(_ beginning: String = "", of bytes: some Sequence<UInt8>, isCompressed: Bool) {
        let hash = String(bytes.hash64, radix: 16)
        description = "W/\"\(beginning)\(hash)\(isCompressed ? "-gzip" : "")\""
    }

    /// Whether a value of `If-None-Match` names it. The comparison is weak, as the header requires.
    ///
    /// - Parameter isThere: whether the answer is known not to be an error; only then does `*` match it.
    func isNamed(by condition: String?, isThere: Bool) -> Bool {
        guard let condition else { return false }
        let own = description.dropFirst(2)
        return condition.split(separator: ",").contains { part in
            var part = part.drop { $0 == " " || $0 == "\t" }
            while part.last == " " || part.last == "\t" { part.removeLast() }
            return (isThere && part == "*") || (part.hasPrefix("W/") ? part.dropFirst(2) : part) == own
        }
    }
}
