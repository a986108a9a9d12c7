/// Turns one row of FDSN text into a feature.
struct TextRow {
    private(set) var naming: EventNaming
    private(set) var writer = FeatureWriter()
    /// Whether the line that was read last has fewer columns than the header line.
    private(set) var isShort = false
    /// Whether the line that was read last is not a row but other text, such as an error message or HTML.
    private(set) var isStray = false
    private var fields: [UnsafeBufferPointer<UInt8>] = []
    /// The event's type after the place, if the header line does not name that column.
    private var unnamedType: UnsafeBufferPointer<UInt8>?

    init(_ naming: EventNaming) {
        self.naming = naming
    }

    /// - Returns: the reason for the rejection; nil if `writer` has the feature.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>, _ header: TextHeader) -> Rejection? {
        fields.removeAll(keepingCapacity: true)
        unnamedType = nil
        var start = 0
        for index in 0...line.count where index == line.count || line[index] == UInt8(ascii: "|") {
            fields.append(line.extracting(start..<index).trimmed)
            start = index + 1
        }
        isShort = fields.count < header.count
        if fields.count > header.count { putBack(header) }
        let columns = fields.count == 1 ? "1 column" : "\(fields.count) columns"
        isStray = !isRow(header)
        guard !isStray else {
            return Rejection(.syntax, "not a row: \(columns), where the header line has \(header.count)")
        }
        guard let id = String(validating: field(.eventID, header), as: UTF8.self), !id.utf8.contains(0) else {
            writer.clear()
            return Rejection(.encoding, "EventID: invalid UTF-8 or a NUL character")
        }
        let name = name(of: id, header)
        guard fields.count == header.count else {
            writer.write(onlyCode: name.code)
            return Rejection(.syntax, "\(columns), where the header line has \(header.count)")
        }
        do {
            try write(name, header)
            return nil
        } catch {
            writer.write(onlyCode: name.code)
            return error
        }
    }

    private func field(_ column: TextHeader.Column, _ header: TextHeader) -> UnsafeBufferPointer<UInt8> {
        guard let index = header.index(of: column), index < fields.count else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        return fields[index].saysNothing ? fields[index].extracting(0..<0) : fields[index]
    }

    /// Whether the line is a row. If the line has as many columns as the header line, one valid time, coordinate or known type is
    /// enough. If the line has fewer columns, or more because a text contains bars, then the time and both coordinates must be
    /// valid and in their places.
    private func isRow(_ header: TextHeader) -> Bool {
        let found = [
            TimeText.read(field(.time, header)) != nil, isNumber(field(.latitude, header)),
            isNumber(field(.longitude, header)),
        ]
        return fields.count == header.count
            ? found.contains(true) || EventKind.isKnown(field(.type, header)) : !found.contains(false)
    }

    private mutating func name(of id: String, _ header: TextHeader) -> EventName {
        func text(_ column: TextHeader.Column) -> String {
            String(decoding: field(column, header), as: UTF8.self)
        }
        return naming.name(
            StatedName(
                id: id, workers: [text(.catalog), text(.contributor), text(.author)],
                time: TimeText.read(field(.time, header))))
    }

    // MARK: Bars

    /// Joins the parts of a place that contains bars, because services do not escape a bar in a name. It joins them only if the
    /// bars cannot belong to another column: the columns before the place have plausible values, and so does the event's type
    /// after the place. If the place is the last column, but the last field is a known type, that field is not part of the place.
    private mutating func putBack(_ header: TextHeader) {
        guard let place = header.index(of: .place) else { return }
        let isLast = place == header.count - 1
        let isBeforeType = place == header.count - 2 && header.index(of: .type) == header.count - 1
        // Otherwise the bars could be in another text, before or after the place.
        guard isLast || isBeforeType, isPlausible(header, before: place) else { return }
        if isLast, header.index(of: .type) == nil, let last = fields.last, EventKind.isKnown(last) {
            unnamedType = fields.removeLast()
        }
        let surplus = fields.count - header.count
        guard surplus > 0 else { return }
        // If the last field is empty, but an earlier field after the place is a known type, the extra bar may belong to the text
        // after that type, and not to the place.
        let rest = fields[(place + 1)...]
        if isBeforeType, let type = rest.last {
            guard type.isEmpty ? !rest.contains(where: EventKind.isKnown) : EventKind.isKnown(type) else {
                return
            }
        }
        let first = fields[place]
        let last = fields[place + surplus]
        guard let start = first.baseAddress, let end = last.baseAddress else { return }
        // All fields are in one line, so the bytes from the first part to the last one are the whole place with its bars.
        fields[place] = UnsafeBufferPointer(start: start, count: end + last.count - start).trimmed
        fields.removeSubrange(place + 1...place + surplus)
    }

    /// Whether the columns before the place have plausible values. If so, no text before the place contains a bar.
    private func isPlausible(_ header: TextHeader, before place: Int) -> Bool {
        func holds(_ column: TextHeader.Column, _ check: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
            header.index(of: column).map { $0 > place || check(fields[$0]) } ?? true
        }
        return holds(.time) { TimeText.read($0) != nil }
            && [.latitude, .longitude].allSatisfy { holds($0, isNumber) }
            && [.depth, .magnitude].allSatisfy { holds($0) { $0.saysNothing || isNumber($0) } }
    }

    private func isNumber(_ field: UnsafeBufferPointer<UInt8>) -> Bool {
        if case .number = DecimalText.read(field) { true } else { false }
    }

    // MARK: The feature

    private mutating func write(_ name: EventName, _ header: TextHeader) throws(Rejection) {
        guard !name.netCode.isEmpty else { throw Rejection(.missing, "EventID is missing") }
        let kind = EventKind.name(of: unnamedType ?? field(.type, header))
        let magnitude = try number(.magnitude, "Magnitude", header)
        let latitude = try number(.latitude, "Latitude", header)
        let longitude = try number(.longitude, "Longitude", header)
        if kind.elementsEqual("not existing".utf8) || name.isWithdrawn(by: latitude, longitude, magnitude) {
            return try writer.retract(name, revised: nil)
        }
        let time = field(.time, header)
        guard !time.isEmpty else { throw Rejection(.missing, "Time is missing") }
        guard let time = TimeText.read(time) else { throw Rejection(.type, "Time: not a time") }
        writer.begin(name)
        writer.append("mag", magnitude)
        writer.append("magType", field(.magnitudeType, header))
        writer.append("place", field(.place, header))
        writer.append("type", kind)
        writer.append("time", time: time)
        // FDSN text has no revision time. The origin time replaces it, because a revision cannot be earlier.
        writer.append("updated", time: time)
        writer.append("author", field(.author, header))
        writer.append("catalog", field(.catalog, header))
        writer.append("contributor", field(.contributor, header))
        writer.append("contributor_id", field(.contributorID, header))
        writer.append("magnitude_author", field(.magnitudeAuthor, header))
        for (name, index) in header.others where !fields[index].saysNothing {
            var text: [UInt8] = []
            text.append(json: fields[index])
            writer.append(name.utf8, json: text)
        }
        let depth = try number(.depth, "Depth", header)
        writer.end(
            longitude: longitude, latitude: latitude,
            depth: header.isDepthInMetres ? depth?.inKilometres : depth)
    }

    private func number(
        _ column: TextHeader.Column, _ name: String, _ header: TextHeader
    ) throws(Rejection) -> DecimalText? {
        let field = field(column, header)
        return try field.isEmpty ? nil : DecimalText.optional(field, named: name)
    }
}
