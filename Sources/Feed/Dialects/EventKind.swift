/// The kinds of events: QuakeML's words, which FDSN text also uses, and the abbreviations of some agencies.
package enum EventKind {
    static func isKnown(_ text: some Collection<UInt8>) -> Bool {
        known.contains(text.map(\.asciiLowercased))
    }

    /// The kind in QuakeML's words if the text is a known abbreviation; otherwise the text in lower case.
    static func name(of text: some Collection<UInt8>) -> [UInt8] {
        let small = text.map(\.asciiLowercased)
        return small.count == 2 ? abbreviations[small] ?? small : small
    }

    /// The abbreviations of the SCEDC (https://scedc.caltech.edu/data/etypes.html), and those of IMS1.0 that EMSC uses: k means
    /// known, s means suspected.
    private static let abbreviations = Dictionary(
        uniqueKeysWithValues: [
            ("eq", "earthquake"), ("qb", "quarry blast"), ("nt", "nuclear explosion"), ("sn", "sonic boom"),
            ("ex", "explosion"), ("ke", "earthquake"), ("se", "earthquake"), ("de", "earthquake"),
            ("fe", "earthquake"), ("kr", "rock burst"), ("sr", "rock burst"),
            ("ki", "induced or triggered event"), ("si", "induced or triggered event"),
            ("km", "mining explosion"), ("sm", "mining explosion"), ("kh", "chemical explosion"),
            ("sh", "chemical explosion"), ("kx", "experimental explosion"), ("sx", "experimental explosion"),
            ("kn", "nuclear explosion"), ("ls", "landslide"), ("uk", "not reported"),
        ].map { (Array($0.0.utf8), Array($0.1.utf8)) })

    /// QuakeML's words (`EventType` of its schema).
    package static let known = Set(
        [
            "not existing", "not reported", "earthquake", "anthropogenic event", "collapse",
            "cavity collapse", "mine collapse", "building collapse", "explosion", "accidental explosion",
            "chemical explosion", "controlled explosion", "experimental explosion", "industrial explosion",
            "mining explosion", "quarry blast", "road cut", "blasting levee", "nuclear explosion",
            "induced or triggered event", "rock burst", "reservoir loading", "fluid injection",
            "fluid extraction", "crash", "plane crash", "train crash", "boat crash", "other event",
            "atmospheric event", "sonic boom", "sonic blast", "acoustic noise", "thunder", "avalanche",
            "snow avalanche", "debris avalanche", "hydroacoustic event", "ice quake", "slide", "landslide",
            "rockslide", "meteorite", "volcanic eruption",
        ].map { Array($0.utf8) })
}
