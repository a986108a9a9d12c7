import HTTPTypes
import PostgreSQL
import QuakeStore

/// What a route answers from the database.
struct Answer: Sendable {
    /// Identifies the request within the ETag: its path and its query in a normal form, the format included.
    let key: String
    let contentType: String
    var cacheSeconds = 0
    /// The token of the past that it is of, if it stays the same in every state of the catalogue: it has its own tag, and caches
    /// may keep it.
    var past: Int?
    /// Whether the body has URLs of this server.
    var namesServer = false
    var lane = Lane.short
    /// Anything else that the body depends on, besides the key and the history's position, such as the time of the feed's
    /// document. It becomes part of the ETag. Without it, the state that is handed over lacks the settled documents.
    var edition: (@Sendable (CatalogueState) -> String)?
    /// Writes the body from one statement, and before it notes the state that it is of. Nothing is written, and it returns
    /// false, if the answer takes more than that; nil for an answer that always does.
    var writeAtOnce: (@Sendable (isolated Connection, AnswerWriter) throws -> Bool)?
    /// It runs in a transaction, REPEATABLE READ and READ ONLY, that sees the state which is handed over. Until it has
    /// written something it may throw a `Refusal`, which is then the answer. It may run again after it failed without having
    /// written anything.
    let write: @Sendable (Connection, CatalogueState, AnswerWriter) async throws -> Void
}

/// An answer that is made without rows, or a refusal.
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
