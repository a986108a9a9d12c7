/// Why a view starts over with a fresh snapshot.
public enum FreshStart: Sendable, Equatable {
    /// It holds nothing yet.
    case first
    /// The history after its token was pruned.
    case pruned(after: Int)
    /// The database holds another store.
    case otherStore
    /// Its token is higher than any here: transactions that it had seen were lost.
    case future(Int, newest: Int)
    /// Another transaction has its token here.
    case otherTransaction(Int)
    /// The table has other columns now, or was written anew by ALTER TABLE: its rows may differ without a change in history.
    case altered
}

extension FreshStart: CustomStringConvertible {
    public var description: String {
        switch self {
        case .first: "first start"
        case .pruned(let token): "the history after token \(token) was pruned"
        case .otherStore: "the database is another one than before"
        case .future(let token, let newest):
            "token \(token) is not known here, where the newest is \(newest): the server was restored or has lost transactions"
        case .otherTransaction(let token):
            "token \(token) belongs to another transaction here: the server was restored or has lost transactions"
        case .altered: "the table was altered"
        }
    }
}
