import Feed
import PostgreSQL

/// Events in the columns of the USGS's CSV. Columns that summary feeds do not report, such as errors, are empty.
struct EventCSV: EventEncoder {
    static let properties: [Property] = [
        .time, .latitude, .longitude, .depth, .magnitude, .magnitudeType, .nst, .gap, .dmin, .rms, .net,
        .code,
        .updated, .place, .type, .status,
    ]

    func head(of count: Int) -> String {
        "time,latitude,longitude,depth,mag,magType,nst,gap,dmin,rms,net,id,updated,place,type,horizontalError,depthError,"
            + "magError,magNst,status,locationSource,magSource\n"
    }

    func append(_ row: inout Row, to line: inout [UInt8]) throws {
        for property in Self.properties {
            if property == .status { line.append(text: ",,,,") }
            switch property.kind {
            case .time: try row.nextInstant()?.appendText(to: &line)
            case .number: if let number = try row.nextDouble() { line.append(number: number) }
            case .integer: if let integer = try row.nextInteger() { line.append(integer: integer) }
            case .text, .flag, .list, .json: if let text = try row.nextBytes() { line.append(csvField: text) }
            }
            line.append(UInt8(ascii: ","))
        }
        line.append(text: ",\n")
    }
}
