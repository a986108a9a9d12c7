import Feed

/// Metrics in Prometheus's text format (https://prometheus.io/docs/instrumenting/exposition_formats/).
struct MetricsText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    enum Kind: String {
        case counter, gauge, histogram
    }

    mutating func family(_ name: String, _ kind: Kind, _ meaning: String) {
        text += "# HELP \(name) \(Self.escaped(meaning))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func sample(
        _ name: String, _ labels: [(String, String)] = [], _ value: some CustomStringConvertible
    ) {
        let list = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
        text += "\(name)\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
    }

    mutating func gauge(
        _ name: String, _ meaning: String, _ value: some CustomStringConvertible
    ) {
        family(name, .gauge, meaning)
        sample(name, [], value)
    }

    mutating func gauge<Value: CustomStringConvertible>(
        _ name: String, _ meaning: String, by label: String,
        _ samples: [(String, Value)]
    ) {
        family(name, .gauge, meaning)
        for (subject, value) in samples { sample(name, [(label, subject)], value) }
    }

    mutating func counter(_ name: String, _ meaning: String, _ value: Int) {
        family(name, .counter, meaning)
        sample(name, [], value)
    }

    mutating func histogram(_ name: String, _ labels: [(String, String)], _ histogram: Metrics.Histogram) {
        var count = 0
        for (bound, bucket) in zip(Metrics.Histogram.bounds.map { "\($0)" } + ["+Inf"], histogram.buckets) {
            count += bucket
            sample("\(name)_bucket", labels + [("le", bound)], count)
        }
        sample("\(name)_count", labels, count)
        sample("\(name)_sum", labels, histogram.sum)
    }

    private static func escaped(_ text: String) -> String {
        // Replaces Unicode scalars, because a carriage return and a line feed together are one `Character`.
        text.replacing("\\" as Unicode.Scalar, with: "\\\\")
            .replacing("\"" as Unicode.Scalar, with: "\\\"")
            .replacing("\n" as Unicode.Scalar, with: "\\n")
    }
}
