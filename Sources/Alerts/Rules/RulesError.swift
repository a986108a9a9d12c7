/// All problems of a rules file, in the order of the file.
public struct RulesError: Error, Equatable, CustomStringConvertible {
    public struct Problem: Sendable, Equatable {
        /// The line, counted from 1; nil for a problem of the whole file.
        public let line: Int?
        /// The column in characters, counted from 1.
        public let column: Int?
        public let text: String
    }

    public let file: String
    public let problems: [Problem]

    /// One line for each problem, such as `rules.yaml:12:5: unknown key "magnitud"; did you mean "magnitude"?`.
    public var description: String {
        problems.map { problem in
            let place = [file, problem.line.map { "\($0)" }, problem.column.map { "\($0)" }].compactMap(
                \.self)
            return "\(place.joined(separator: ":")): \(problem.text)"
        }.joined(separator: "\n")
    }
}
