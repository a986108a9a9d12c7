/// One earthquake, or another seismic event that the feeds carry, as a value.
///
/// The fields are those of the USGS GeoJSON summary format
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php).
public struct Quake: Sendable, Equatable {
    /// The network-qualified id, such as `us7000abcd`: unique, and the key.
    public var code: String
    /// The contributing network, such as `us`, and its own code for the event, unique only within it.
    public var net: String
    public var netCode: String
    public var magnitude: Double?
    /// The method behind the magnitude, such as `mww` or `ml`.
    public var magnitudeType: String?
    public var place: String?
    public var title: String?
    public var url: String?
    public var detail: String?
    /// `automatic`, `reviewed` or `deleted`.
    public var status: String?
    /// PAGER alert level: `green`, `yellow`, `orange` or `red`.
    public var alert: String?
    /// `earthquake`, `quarry blast`, ….
    public var type: String?
    /// Origin time.
    public var time: Instant
    /// When the event was last revised upstream.
    public var updated: Instant
    /// Offset of local time from UTC at the epicentre, in minutes.
    public var tz: Int32?
    /// Number of felt reports.
    public var felt: Int32?
    /// Significance, 0 to 1000.
    public var sig: Int32?
    /// Number of stations used.
    public var nst: Int32?
    /// Maximum reported intensity, and maximum estimated instrumental intensity.
    public var cdi: Double?
    public var mmi: Double?
    /// Distance to the nearest station, in degrees.
    public var dmin: Double?
    /// Root-mean-square travel time residual, in seconds.
    public var rms: Double?
    /// Largest azimuthal gap between stations, in degrees.
    public var gap: Double?
    public var tsunami: Bool?
    /// Every id the event ever had, the networks, and the product types.
    public var ids: [String]?
    public var sources: [String]?
    public var types: [String]?
    /// Degrees.
    public var longitude: Double
    /// Degrees.
    public var latitude: Double
    /// Kilometres, negative above sea level.
    public var depth: Double?
    /// Unknown properties as one JSON object.
    public var extra: String?

    /// An event with what every event has.
    public init(
        code: String, net: String, netCode: String, time: Instant, updated: Instant, longitude: Double,
        latitude: Double
    ) {
        self.code = code
        self.net = net
        self.netCode = netCode
        self.time = time
        self.updated = updated
        self.longitude = longitude
        self.latitude = latitude
    }

    /// Copies a record out of its feature's bytes.
    public init(_ record: QuakeRecord, from bytes: UnsafeBufferPointer<UInt8>) {
        func list(_ text: JSONText?) -> [String]? {
            text.map { text in
                var elements: [String] = []
                text.forEachElement(in: bytes) { elements.append(String(decoding: $0, as: UTF8.self)) }
                return elements
            }
        }
        code = record.withCode(in: bytes) { String(decoding: $0, as: UTF8.self) }
        net = record.net.string(from: bytes)
        netCode = record.netCode.string(from: bytes)
        magnitude = record.magnitude
        magnitudeType = record.magnitudeType?.string(from: bytes)
        place = record.place?.string(from: bytes)
        title = record.title?.string(from: bytes)
        url = record.url?.string(from: bytes)
        detail = record.detail?.string(from: bytes)
        status = record.status?.string(from: bytes)
        alert = record.alert?.string(from: bytes)
        type = record.type?.string(from: bytes)
        time = Instant(milliseconds: record.time)
        updated = Instant(milliseconds: record.updated)
        tz = record.tz
        felt = record.felt
        sig = record.sig
        nst = record.nst
        cdi = record.cdi
        mmi = record.mmi
        dmin = record.dmin
        rms = record.rms
        gap = record.gap
        tsunami = record.tsunami
        ids = list(record.ids)
        sources = list(record.sources)
        types = list(record.types)
        longitude = record.longitude
        latitude = record.latitude
        depth = record.depth
        if record.hasExtra {
            var utf8: [UInt8] = []
            record.appendExtra(to: &utf8, from: bytes)
            extra = String(decoding: utf8, as: UTF8.self)
        }
    }
}

/// A moment in UTC, to the millisecond, as the feeds count it.
public struct Instant: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
