import PostgreSQL

extension Query {
    /// For a clause FROM: all changes `c` of one earthquake and their transactions `t`, in no order.
    ///
    /// They are found by the key, and their transactions by their ids, because the planner may know nothing of this key
    /// yet.
    static func changes(of key: Query) -> Query {
        """
        (select * from history.change where key = \(key) and entity = 'quake' offset 0) as c
        cross join lateral (select * from history.transaction where id = c.transaction offset 0) as t
        """
    }
}
