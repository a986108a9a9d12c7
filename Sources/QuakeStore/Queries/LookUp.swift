/// Looks up rows of `quake` by their codes.
enum LookUp {
    /// A part of a FROM clause: the row of `quake` with the given code, or nulls.
    ///
    /// Because of `offset 0`, the planner always looks up each code in the index. A plain join may read the whole table for each
    /// code, because the planner's statistics may be wrong: they may be older than the last load, or describe an empty table
    /// after an import was rolled back.
    static func row(of code: String) -> String {
        "left join lateral (select * from only public.quake where quake.code = \(code) offset 0) as quake on true"
    }
}
