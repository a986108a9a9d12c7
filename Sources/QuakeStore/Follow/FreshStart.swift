/// The reason why a view has to drop everything that it holds, and to read all rows again.
public enum FreshStart: Sendable, Equatable, CustomStringConvertible {
    /// The view holds nothing yet.
    case first
    /// Pruning has deleted changes that the view has not read yet.
    case pruned(after: Int)
    case otherStore
    /// The view's token is higher than all tokens in this database: transactions that the view had seen were lost.
    case future(Int, newest: Int)
    /// In this database, the view's token belongs to a different transaction.
    case otherTransaction(Int)
    /// The table's columns have changed, or ALTER TABLE has rewritten the table. So rows may have changed without a record in the
    /// history.
    case altered

    /// - Parameter verdict: the result of `history.check`, or `behind` for a hot standby that has not reached the reader's
    ///   position.
    init?(of reader: Position, _ verdict: String?, now: Position) {
        switch verdict {
        case "ok": return nil
        case "expired": self = .pruned(after: reader.token)
        default:
            self =
                if reader.store != now.store {
                    .otherStore
                } else if reader.token > now.token {
                    .future(reader.token, newest: now.token)
                } else {
                    .otherTransaction(reader.token)
                }
        }
    }

    public var description: String {
        switch self {
        case .first: "first start"
        case .pruned(let token): "the history after token \(token) was pruned"
        case .otherStore: "the database is not the one that was followed before"
        case .future(let token, let newest):
            "token \(token) is unknown in this database, whose newest token is \(newest): "
                + "the server was restored or has lost transactions"
        case .otherTransaction(let token):
            "token \(token) belongs to a different transaction in this database: the server was restored or has lost transactions"
        case .altered: "the table was altered"
        }
    }
}
