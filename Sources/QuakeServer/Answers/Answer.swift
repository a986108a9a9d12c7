import PostgreSQL
import QuakeStore

/// What a route answers from the database.
public struct Answer: Sendable {
    /// Identifies the request within the ETag: its path and its query in a normal form, the format included.
    public var key: String
    /// The value of `Content-Type`.
    public var contentType: String
    /// How long caches may give the answer without asking again.
    public var cacheSeconds = 0
    /// Whether it is the same for ever, whatever the catalogue's state: caches may keep it, and it has a tag of its own.
    public var isImmutable = false
    /// Who has to be waited for until the database is asked.
    var lane = Lane.short
    /// What the body depends on beside the key and the history's position, such as the time of the feed's document. It
    /// becomes part of the ETag. Without it, the state that is handed over lacks the settled documents.
    public var more: (@Sendable (CatalogueState) -> String)?
    /// Writes the body.
    ///
    /// It runs in a transaction, REPEATABLE READ and READ ONLY, that sees the state which is handed over. Until it has
    /// written something it may throw a `Refusal`, which is then the answer. It may run again after it failed without having
    /// written anything.
    public var write: @Sendable (Connection, CatalogueState, AnswerWriter) async throws -> Void

    /// Writes the body in one exchange with the database, and tells the state that it is of before. Nothing is written, and it
    /// returns false, if the answer takes more than that; nil for an answer that always does.
    var writeAtOnce:
        (
            @Sendable (isolated Connection, Duration, AnswerWriter, _ told: (CatalogueState) -> Void) throws
                ->
                Bool
        )?

    public init(
        key: String, contentType: String,
        write: @escaping @Sendable (Connection, CatalogueState, AnswerWriter) async throws -> Void
    ) {
        self.key = key
        self.contentType = contentType
        self.write = write
    }
}

/// An answer that is made without rows, or a refusal.
public struct Reply: Sendable {
    public var status: Int
    public var contentType: String
    /// Further headers.
    public var headers: [(name: String, value: String)] = []
    public var body: [UInt8]

    public init(
        _ status: Int, _ contentType: String = "text/plain; charset=utf-8", body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}

/// Where a request leads.
enum RouteResult: Sendable {
    case answer(Answer)
    case reply(Reply)
    case changes(ChangesRequest)
}
