extension Agency {
    /// What `net` its events have: its name; for ComCat's contributors their network, and for `usgs` all of these. In SQL, that
    /// is `report.agency`.
    public var networks: [String] {
        switch network {
        case nil: [name]
        case "": [name] + Agency.networksOfComCat.sorted()
        case let network?: [network]
        }
    }
}
