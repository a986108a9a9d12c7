/// Text to look for in the names of places. A letter matches its upper and lower case, in any script; every other character has
/// to match exactly.
///
/// The cases of letters come from Swift and not from the server, because the server's `lower` and `ilike` depend on how the
/// database was created. So a query on a view's file gives the same events as a query on the server.
public struct PlaceText: Sendable, Equatable {
    public let text: String
    /// For each character of the text: the character and its other cases.
    private let characters: [Set<Unicode.Scalar>]

    /// Returns nil for an empty text.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
        characters = text.unicodeScalars.map(Self.cases)
    }

    public func isPart(of place: String) -> Bool {
        let scalars = Array(place.unicodeScalars)
        guard scalars.count >= characters.count else { return false }
        return (0...scalars.count - characters.count).contains { start in
            characters.indices.allSatisfy { characters[$0].contains(scalars[start + $0]) }
        }
    }

    /// The advanced regular expression of PostgreSQL that matches the same places:
    /// https://www.postgresql.org/docs/current/functions-matching.html#POSIX-SYNTAX-DETAILS
    var pattern: String {
        characters.map { cases in
            let scalars = cases.sorted()
            if scalars.count > 1 { return "[\(scalars.map(String.init).joined())]" }
            return scalars.map { $0.isASCII && !$0.properties.isAlphabetic ? Self.escaped($0) : String($0) }
                .joined()
        }.joined()
    }

    /// Digits are not escaped, because a digit after a backslash would be a back reference.
    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        ("0"..."9").contains(scalar) ? String(scalar) : "\\\(scalar)"
    }

    private static func cases(_ scalar: Unicode.Scalar) -> Set<Unicode.Scalar> {
        let properties = scalar.properties
        var cases: Set = [scalar]
        // A case that consists of several characters, such as SS for ß, does not match.
        for mapping in [
            properties.lowercaseMapping, properties.uppercaseMapping, properties.titlecaseMapping,
        ] {
            let scalars = mapping.unicodeScalars
            if scalars.count == 1, let only = scalars.first { cases.insert(only) }
        }
        return cases
    }
}
