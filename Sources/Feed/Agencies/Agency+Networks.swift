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

    /// The agency whose events have this `net`; nil if it is none of these. What is in ComCat is the USGS's.
    public static func ofNetwork(_ net: String) -> Agency? {
        known.first { $0.networks.contains(net) }
    }
}
