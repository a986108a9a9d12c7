import Feed

/// The parameters of one request, with a method for each kind of value. Errors are `Refusal`s that name the parameter and its
/// value.
struct EventParameters {
    private var values: [EventParameter: String] = [:]

    init(_ pairs: [(name: String, value: String)]) throws {
        for (name, value) in pairs {
            guard let parameter = EventParameter.named[name] else {
                let meant = closestSpelling(of: name, among: EventParameter.names)
                throw Refusal(
                    400, "unknown parameter: \(name)\(meant.map { "; did you mean \($0)?" } ?? "")")
            }
            guard values[parameter] == nil else {
                throw Refusal(400, "\(parameter) is given more than once")
            }
            guard !value.isEmpty else { throw Refusal(400, "\(name) has no value") }
            values[parameter] = value
        }
    }

    func has(_ parameter: EventParameter) -> Bool { values[parameter] != nil }

    func text(_ parameter: EventParameter) -> String? { values[parameter] }

    /// The elements of a list with commas between them. An empty element is an error.
    func list(_ parameter: EventParameter) throws -> [String]? {
        guard let value = values[parameter] else { return nil }
        let parts = value.split(at: ",").map { String($0.trimmingPrefix(while: { $0 == " " })) }
        guard !parts.contains("") else { throw wrong(parameter, "has an empty element") }
        return parts
    }

    /// The value as a decimal number without an exponent.
    func number(_ parameter: EventParameter) throws -> Double? {
        guard let value = values[parameter] else { return nil }
        let digits = value.utf8.drop { [UInt8(ascii: "-"), UInt8(ascii: "+")].contains($0) }
        let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard value.utf8.count - digits.count <= 1, parts.count <= 2, value.utf8.count <= 40,
            parts.contains(where: { !$0.isEmpty }), parts.allSatisfy({ $0.allSatisfy(\.isDigit) }),
            let number = Double(value)
        else { throw wrong(parameter, "is not a decimal number") }
        return try within(parameter, number)
    }

    /// The value as a whole number. A minus sign is accepted if the parameter allows negative numbers.
    func integer(_ parameter: EventParameter) throws -> Int? {
        guard let value = values[parameter] else { return nil }
        guard value.utf8.drop(while: { $0 == UInt8(ascii: "-") }).allSatisfy(\.isDigit),
            let number = Int(value)
        else { throw wrong(parameter, "is not a whole number") }
        _ = try within(parameter, Double(number))
        return number
    }

    func flag(_ parameter: EventParameter) throws -> Bool? {
        guard let value = values[parameter]?.lowercased() else { return nil }
        guard ["true", "false"].contains(value) else { throw wrong(parameter, "is neither true nor false") }
        return value == "true"
    }

    func choice(_ parameter: EventParameter) throws -> String? {
        guard let value = values[parameter] else { return nil }
        guard case .choice(let words) = parameter.kind, !words.contains(value) else { return value }
        throw wrong(parameter, "is not one of \(words.joined(separator: ", "))")
    }

    /// A time rounded down to the millisecond, and whether the rounding changed it.
    struct Time {
        let floor: Instant
        let isMore: Bool

        /// The first millisecond that is not before the time.
        var ceiling: Instant { Instant(milliseconds: floor.milliseconds + (isMore ? 1 : 0)) }
        /// The first millisecond after the time.
        var next: Instant { Instant(milliseconds: floor.milliseconds + 1) }
    }

    /// The value as a time: `YYYY-MM-DD`, or `YYYY-MM-DDTHH:MM:SS` with up to nine decimals. The time is in UTC, unless an offset
    /// such as `+02:00` follows. As at the USGS, a space may replace the `T`.
    func time(_ parameter: EventParameter) throws -> Time? {
        guard let value = values[parameter] else { return nil }
        let time = Self.withoutBlankSign(value)
        guard let digits = Self.fraction(of: time), let instant = Instant(time) else {
            throw wrong(parameter, "is not a time such as 2014-04-15 or 2014-04-15T12:22:47.5, in UTC")
        }
        return Time(floor: instant, isMore: digits.dropFirst(3).contains { $0 != "0" })
    }

    /// Restores the `+` of a time's offset, because an unescaped `+` means a space in a URL's query.
    static func withoutBlankSign(_ time: String) -> String {
        String(time.prefix(11)) + time.dropFirst(11).replacing(" ", with: "+")
    }

    /// The digits of a time's fraction of a second; empty if it has none. nil for a form that the service does not accept, even
    /// if `Instant` can read it.
    private static func fraction(of time: String) -> Substring? {
        time.wholeMatch(
            of: #/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.(?<digits>\d{1,9}))?(?:Z|[+-]\d\d:?\d\d)?)?/#
        )
        .map { $0.digits ?? "" }
    }

    /// The range that two parameters describe. An end that is not given is infinite.
    ///
    /// - Parameters:
    ///   - low, high: the parameters for the ends of the range.
    /// - Returns: nil if neither is given.
    func range(_ low: EventParameter, _ high: EventParameter?) throws -> ClosedRange<Double>? {
        guard has(low) || high.map(has) ?? false else { return nil }
        let (least, greatest) = (try end(low) ?? -.infinity, try high.flatMap(end) ?? .infinity)
        guard least <= greatest else {
            throw Refusal(400, "\(low) is greater than \(high?.rawValue ?? "")")
        }
        return least...greatest
    }

    private func end(_ parameter: EventParameter) throws -> Double? {
        if case .integer = parameter.kind { return try integer(parameter).map(Double.init) }
        return try number(parameter)
    }

    private func within(_ parameter: EventParameter, _ number: Double) throws -> Double {
        switch parameter.kind {
        case .number(let limits), .integer(let limits):
            guard limits.contains(number) else {
                let (least, greatest) = (Int(limits.lowerBound), Int(limits.upperBound))
                throw wrong(parameter, "is not between \(least) and \(greatest)")
            }
            return number
        case .time, .boolean, .text, .choice: return number
        }
    }

    func wrong(_ parameter: EventParameter, _ problem: String) -> Refusal {
        Refusal(400, "\(parameter)=\(values[parameter]?.prefix(100) ?? "") \(problem)")
    }
}
