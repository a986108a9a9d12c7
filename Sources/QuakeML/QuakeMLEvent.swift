import Feed

extension QuakeML {
    /// The properties of an event that QuakeML can contain. The texts are UTF-8 in the caller's memory.
    package struct Event {
        package var code: UnsafeRawBufferPointer
        package var net: UnsafeRawBufferPointer
        package var time: Instant
        package var updated: Instant
        package var latitude: Double
        package var longitude: Double
        package var url: UnsafeRawBufferPointer?
        package var place: UnsafeRawBufferPointer?
        package var type: UnsafeRawBufferPointer?
        package var status: UnsafeRawBufferPointer?
        package var magnitudeType: UnsafeRawBufferPointer?
        /// In km.
        package var depth: Double?
        package var magnitude: Double?
        package var stations: Int64?
        package var residual: Double?
        package var gap: Double?
        package var distance: Double?

        package init(
            code: UnsafeRawBufferPointer, net: UnsafeRawBufferPointer, time: Instant, updated: Instant,
            latitude: Double, longitude: Double
        ) {
            (self.code, self.net, self.time, self.updated) = (code, net, time, updated)
            (self.latitude, self.longitude) = (latitude, longitude)
        }

        /// Runs `body` with an event whose texts are valid until `body` returns.
        static func with(_ quake: Quake, _ body: (Event) -> Void) {
            let properties: [Property] = [.code, .net, .url, .place, .type, .status, .magnitudeType]
            var bytes: [UInt8] = []
            let ranges = properties.map { property in
                quake[property].text.map { text in
                    bytes += text.utf8
                    return bytes.count - text.utf8.count..<bytes.count
                }
            }
            bytes.withUnsafeBytes { bytes in
                let texts = ranges.map { $0.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) } }
                let nothing = UnsafeRawBufferPointer(rebasing: bytes[..<0])
                var event = Event(
                    code: texts[0] ?? nothing, net: texts[1] ?? nothing, time: quake.time,
                    updated: quake.updated, latitude: quake.latitude, longitude: quake.longitude)
                (event.url, event.place, event.type) = (texts[2], texts[3], texts[4])
                (event.status, event.magnitudeType) = (texts[5], texts[6])
                (event.depth, event.magnitude) = (quake.depth, quake.magnitude)
                event.stations = quake[.nst].integer.map { Int64($0) }
                event.residual = quake[.rms].number
                event.gap = quake[.gap].number
                event.distance = quake[.dmin].number
                body(event)
            }
        }
    }
}
