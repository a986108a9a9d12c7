/// Disjoint sets of rows that can be joined, but not split (union–find).
struct DisjointSets {
    private var parents: [Int32]
    /// For each leader, the members of its set; empty for all other rows.
    private(set) var members: [[Int32]]

    init(count: Int) {
        parents = (0..<Int32(count)).map(\.self)
        members = parents.map { [$0] }
    }

    mutating func leader(of row: Int) -> Int {
        var row = row
        while parents[row] != row {
            parents[row] = parents[Int(parents[row])]
            row = Int(parents[row])
        }
        return row
    }

    /// Joins the sets of two leaders.
    mutating func join(_ a: Int, _ b: Int) {
        let (large, small) = members[a].count >= members[b].count ? (a, b) : (b, a)
        parents[small] = Int32(large)
        members[large] += members[small]
        members[small] = []
    }
}
