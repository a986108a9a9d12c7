import HTTPTypes
import PostgreSQL
import QuakeStore

/// An answer that is read from the database.
struct Answer: Sendable {
    /// Names the selection and the format of the request. It becomes part of the ETag.
    let key: String
    let contentType: String
    var cacheSeconds = 0
    /// The past state that the answer shows; nil for the present state.
    var asOf: PastMoment?
    /// The token of the past state that the answer shows, if the answer can never change; otherwise nil. The ETag of such an
    /// answer does not depend on the catalogue's current state, and caches may keep the answer for long.
    var past: Int?
    /// Whether the body contains URLs of this server.
    var namesServer = false
    var lane = Lane.short
    /// Describes anything else that the body depends on, besides the key and the history's position, such as the time of the
    /// feed's document. The description becomes part of the ETag. If this closure is nil, `write` gets a state without the
    /// settled documents.
    var edition: (@Sendable (CatalogueState) -> String)?
    /// Reads the catalogue's state and the rows with one statement, notes the state, and then writes the body. If one statement
    /// is not enough, the closure writes nothing and returns false, and `write` is called. This closure is nil for an answer that
    /// always needs `write`.
    var writeAtOnce: (@Sendable (isolated Connection, AnswerWriter) throws -> Bool)?
    /// Writes the body in a REPEATABLE READ, READ ONLY transaction that sees the given state. Before anything is written, the
    /// closure may throw a `Refusal`, which becomes the answer. If the connection is lost before anything is written, the closure
    /// may be called again.
    let write: @Sendable (Connection, CatalogueState, AnswerWriter) async throws -> Void
}

extension Answer {
    /// The position of the state that the answer shows; nil for a past state that is named by a token or a time.
    func position(at state: CatalogueState) -> Position? {
        switch asOf {
        case nil: state.position
        case .position(let position)?: position
        case _?: nil
        }
    }
}

/// A reply with its whole body in memory, such as a file of the page or a refusal.
struct Reply: Sendable {
    var status = 200
    var contentType = "text/plain; charset=utf-8"
    var headers: HTTPFields = [:]
    var body: [UInt8] = []
}

enum RouteResult: Sendable {
    case answer(Answer)
    case reply(Reply)
    case changes(ChangesRequest)
}
