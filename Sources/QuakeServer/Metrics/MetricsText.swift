import Feed

/// Metrics in the OpenMetrics text format (https://prometheus.io/docs/specs/om/open_metrics_spec/), or in the older one of
/// Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/) for those who do not ask for it.
struct MetricsText {
    private let isOpen: Bool
    private(set) var text = ""

    /// - Parameter accepted: the request's `Accept`.
    init(accepted: String?) {
        isOpen = accepted?.contains("application/openmetrics-text") ?? false
    }

    var contentType: String {
        isOpen
            ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
            : "text/plain; version=0.0.4; charset=utf-8"
    }

    enum Kind: String {
        case counter, gauge, histogram, info
    }

    /// Begins a family. Its samples follow.
    mutating func family(_ name: String, _ kind: Kind, unit: String? = nil, _ meaning: String) {
        var (name, type) = (name, kind.rawValue)
        if !isOpen {
            // The older format declares samples rather than families, and has no type for information.
            if kind == .counter { name += "_total" }
            if kind == .info { (name, type) = ("\(name)_info", "gauge") }
        }
        text += "# HELP \(name) \(Self.escaped(meaning))\n# TYPE \(name) \(type)\n"
        if isOpen, let unit { text += "# UNIT \(name) \(unit)\n" }
    }

    mutating func sample(
        _ name: String, _ labels: [(String, String)] = [], _ value: some CustomStringConvertible
    ) {
        let list = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
        text += "\(name)\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
    }

    /// A gauge with one sample.
    mutating func gauge(
        _ name: String, unit: String? = nil, _ meaning: String, _ value: some CustomStringConvertible
    ) {
        family(name, .gauge, unit: unit, meaning)
        sample(name, [], value)
    }

    /// A gauge with a sample for each value of a label.
    mutating func gauge<Value: CustomStringConvertible>(
        _ name: String, unit: String? = nil, _ meaning: String, by label: String,
        _ samples: [(String, Value)]
    ) {
        family(name, .gauge, unit: unit, meaning)
        for (subject, value) in samples { sample(name, [(label, subject)], value) }
    }

    /// A counter with one sample.
    mutating func counter(_ name: String, unit: String? = nil, _ meaning: String, _ value: Int) {
        family(name, .counter, unit: unit, meaning)
        sample("\(name)_total", [], value)
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

    mutating func end() {
        if isOpen { text += "# EOF\n" }
    }

    private static func escaped(_ text: String) -> String {
        // Scalars, not Characters: a carriage return and a line feed are one Character.
        text.replacing("\\" as Unicode.Scalar, with: "\\\\")
            .replacing("\"" as Unicode.Scalar, with: "\\\"")
            .replacing("\n" as Unicode.Scalar, with: "\\n")
    }
}
