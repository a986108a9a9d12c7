import HTTPTypes
import PostgreSQL
import QuakeStore

/// What a route answers from the database.
struct Answer: Sendable {
    /// Identifies the request within the ETag: its path and its query in a normal form, the format included.
    let key: String
    /// The value of `Content-Type`.
    let contentType: String
    /// How long caches may give the answer without asking again.
    var cacheSeconds = 0
    /// A year, which is as long as a cache can be told (RFC 9111, 5.2.2.1, and RFC 8246).
    static let forEver = 31_536_000
    /// Whether it stays the same in every state of the catalogue: it has its own tag.
    var isImmutable = false
    /// Whether the body has URLs of this server.
    var namesServer = false
    /// The queue for the database.
    var lane = Lane.short
    /// Anything else that the body depends on, besides the key and the history's position, such as the time of the feed's
    /// document. It becomes part of the ETag. Without it, the state that is handed over lacks the settled documents.
    var edition: (@Sendable (CatalogueState) -> String)?
    /// Writes the body from one statement, and before it notes the state that it is of. Nothing is written, and it returns
    /// false, if the answer takes more than that; nil for an answer that always does.
    var writeAtOnce: (@Sendable (isolated Connection, AnswerWriter) throws -> Bool)?
    /// Writes the body.
    ///
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

/// The result of routing a request.
enum RouteResult: Sendable {
    case answer(Answer)
    case reply(Reply)
    case changes(ChangesRequest)
}
