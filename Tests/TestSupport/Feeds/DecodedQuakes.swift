import Feed

/// The earthquakes of a GeoJSON document, read with the importer's scanner and decoder.
public func decodedQuakes(_ document: String) throws -> [Quake] {
    var scanner = FeatureScanner()
    var decoder = FeatureDecoder()
    var quakes: [Quake] = []
    try Array(document.utf8).withUnsafeBufferPointer { bytes in
        _ = try scanner.scan(bytes) { feature in
            quakes.append(Quake(try decoder.decode(feature.bytes), from: feature.bytes))
            return true
        }
    }
    return quakes
}
