import Feed

extension QuakeML {
    /// Selects the origins and magnitudes to write for an earthquake that several agencies report: only the preferred origin and
    /// the chosen magnitude, or those of all agencies.
    package struct Solutions: Sendable {
        package var hasAllOrigins: Bool
        package var hasAllMagnitudes: Bool

        package init(hasAllOrigins: Bool = false, hasAllMagnitudes: Bool = false) {
            (self.hasAllOrigins, self.hasAllMagnitudes) = (hasAllOrigins, hasAllMagnitudes)
        }
    }

    /// Writes each earthquake as one event, which combines the solutions of several agencies. The event has the identifier of the
    /// preferred solution. Origins and magnitudes have the same identifiers as in the events of their agencies.
    package struct EarthquakeWriter: Sendable {
        private let solutions: Solutions
        private var parts: Parts?

        private struct Parts {
            let id: [UInt8]
            /// The type and the description.
            var head: [UInt8] = []
            var credits: [[UInt8]] = []
            var origins: [UInt8] = []
            var magnitudes: [UInt8] = []
            /// The id of the preferred magnitude.
            var magnitudeID: [UInt8]?
            let info: [UInt8]
        }

        package init(_ solutions: Solutions) { self.solutions = solutions }

        /// - Parameters:
        ///   - isPreferred: whether the event is the preferred solution. For each earthquake, the preferred solution has to be
        ///     appended first.
        ///   - givesMagnitude: whether the magnitude of this event is the magnitude of the earthquake.
        package mutating func append(
            _ event: Event, isPreferred: Bool, givesMagnitude: Bool, to bytes: inout [UInt8]
        ) {
            var id: [UInt8] = []
            id.append(publicIDOf: event.code, at: event.url)
            let info = [UInt8](infoOf: event)
            if isPreferred {
                finish(&bytes)
                var head: [UInt8] = []
                head.append(headOf: event)
                parts = Parts(id: id, head: head, info: info)
            }
            let hasOrigin = isPreferred || solutions.hasAllOrigins
            if hasOrigin { parts?.origins.append(originOf: event, id, info) }
            var hasMagnitude = false
            if let magnitude = event.magnitude, givesMagnitude || solutions.hasAllMagnitudes {
                hasMagnitude = true
                parts?.magnitudes.append(magnitude, of: event, id, info, namesOrigin: hasOrigin)
                if givesMagnitude { parts?.magnitudeID = id }
            }
            if hasOrigin || hasMagnitude, let credit = QuakeML.credit(of: event.net),
                parts?.credits.contains(credit) == false
            {
                parts?.credits.append(credit)
            }
        }

        /// Writes the last earthquake.
        package func finish(_ bytes: inout [UInt8]) {
            guard let parts else { return }
            bytes.append(text: "<event publicID=\"")
            bytes += parts.id
            bytes.append(text: "\"><preferredOriginID>")
            bytes.append(parts.id, "/origin</preferredOriginID>")
            if let id = parts.magnitudeID {
                bytes.append(text: "<preferredMagnitudeID>")
                bytes.append(id, "/magnitude</preferredMagnitudeID>")
            }
            bytes += parts.head
            for credit in parts.credits { bytes += credit }
            bytes += parts.origins
            bytes += parts.magnitudes
            bytes += parts.info
            bytes.append(text: "</event>\n")
        }
    }
}
