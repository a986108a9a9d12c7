import Feed

extension Finding: CustomStringConvertible {
    public var description: String {
        switch self {
        case .contradiction(let same, let different):
            "\(Self.list(same)) are said to be the same earthquake, but stay apart, because \(Self.list(different)) are said to be different"
        case .farApart(let codes, let kilometres, let seconds):
            "\(Self.list(codes)) are said to be the same earthquake, but are \(Int(kilometres.rounded())) km and \(Int(seconds.rounded())) s apart"
        case .missing(let code):
            "\(code) is named in an override, but there is no such event; the table association_override has the overrides"
        case .severalPreferred(let earthquake, let codes):
            "several events of \(earthquake) are said to be the preferred one: \(codes.map(\.text).joined(separator: ", "))"
        }
    }

    private static func list(_ codes: [ExactText]) -> String { codes.map(\.text).joined(separator: " and ") }
}
