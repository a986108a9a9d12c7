/// Makes a feature of an event that was read from QuakeML.
struct QuakeMLTranslator {
    private var naming: EventNaming
    private(set) var writer = FeatureWriter()

    init(_ naming: EventNaming) {
        self.naming = naming
    }

    /// - Returns: why the event has to be rejected; nil if `writer` has the feature.
    ///
    /// - Parameter isOwn: whether the document was written by Quakes, whose ids are codes.
    mutating func read(_ event: borrowing QuakeMLEvent, isOwn: Bool) -> Rejection? {
        var name = EventName(code: "", net: "", netCode: "")
        do throws(Rejection) {
            try event.withTexts(isOwn: isOwn) { (texts) throws(Rejection) in
                let choice = Choice(texts)
                name = isOwn ? Self.ownName(texts) : naming.name(texts, choice)
                guard !texts.event.isOversized else {
                    throw Rejection(.size, "what is read of the event is more than 1 MiB")
                }
                guard !name.netCode.isEmpty else { throw Rejection(.missing, "publicID is missing") }
                if !isOwn, try isGone(name, texts, choice) {
                    return writer.retract(name, revised: try updated(texts, choice))
                }
                writer.begin(name)
                try write(texts, choice, isOwn)
            }
            return nil
        } catch {
            writer.write(onlyCode: name.code)
            return error
        }
    }

    // MARK: The event

    private mutating func write(
        _ texts: QuakeMLEvent.Texts, _ choice: Choice, _ isOwn: Bool
    ) throws(Rejection) {
        guard choice.origin != nil else { throw Rejection(.missing, "the event has no origin") }
        guard let time = try texts.time(.originTime, choice.origin) else {
            throw Rejection(.missing, "origin/time is missing")
        }
        writer.append("mag", try texts.number(.magnitudeValue, choice.magnitude))
        if let type = texts.field(.magnitudeType, of: choice.magnitude) { writer.append("magType", type) }
        if let place = choice.place { writer.append("place", place) }
        if let type = texts.own(.type) {
            writer.append("type", isOwn ? choice.ownType ?? Array(type) : EventKind.name(of: type))
        }
        if let status = status(texts, choice) { writer.append("status", status.utf8) }
        writer.append("time", time: time)
        // Where nobody says when it was revised: it can't have been before it happened.
        writer.append("updated", time: try updated(texts, choice) ?? time)
        writer.append("nst", try texts.number(.originStations, choice.origin))
        writer.append("rms", try texts.number(.originResidual, choice.origin))
        writer.append("gap", try texts.number(.originGap, choice.origin))
        writer.append("dmin", try texts.number(.originDistance, choice.origin))
        if !isOwn { try writer.appendExtra(texts, choice) }
        writer.end(
            longitude: try texts.number(.originLongitude, choice.origin),
            latitude: try texts.number(.originLatitude, choice.origin),
            depth: try texts.number(.originDepth, choice.origin)?.inKilometres)
    }

    /// Whether the document says that there is no such event.
    private func isGone(
        _ name: EventName, _ texts: QuakeMLEvent.Texts, _ choice: Choice
    ) throws(Rejection) -> Bool {
        if status(texts, choice) == "deleted" { return true }
        return name.isWithdrawn(
            by: try texts.number(.originLatitude, choice.origin),
            try texts.number(.originLongitude, choice.origin),
            try texts.number(.magnitudeValue, choice.magnitude))
    }

    /// The latest of the times at which the event, its origin, its magnitude and its mechanism were made: SeisComP never
    /// changes the event's own.
    private func updated(_ texts: QuakeMLEvent.Texts, _ choice: Choice) throws(Rejection) -> Instant? {
        var latest: Instant?
        if let own = texts.own(.created) { latest = try texts.time(own, "creationInfo/creationTime") }
        for (field, part) in [
            (QuakeMLField.originCreated, choice.origin), (.magnitudeCreated, choice.magnitude),
            (.mechanismCreated, choice.mechanism),
        ] {
            guard let time = try texts.time(field, part) else { continue }
            latest = max(time, latest ?? time)
        }
        return latest
    }

    /// `reviewed` if a person has looked at it, in the USGS's words.
    private func status(_ texts: QuakeMLEvent.Texts, _ choice: Choice) -> String? {
        let status = texts.string(texts.field(.originStatus, of: choice.origin))
        if status == "rejected" || texts.own(.type)?.elementsEqual("not existing".utf8) == true {
            return "deleted"
        }
        switch (texts.string(texts.field(.originMode, of: choice.origin)), status) {
        case ("manual", _), (_, "confirmed"), (_, "reviewed"), (_, "final"), (_, "reported"):
            return "reviewed"
        case ("automatic", _), (_, "preliminary"): return "automatic"
        default: return nil
        }
    }

    // MARK: Names

    /// The event of a document that Quakes wrote: `smi:HOST/fdsnws/event/1/query?eventid=CODE`.
    private static func ownName(_ texts: QuakeMLEvent.Texts) -> EventName {
        let publicID = texts.string(texts.text(texts.event.publicID))
        let (authority, escaped) = EventNaming.parts(ofPublicID: publicID)
        let code = escaped[...].unescaped(by: "~")
        let net = texts.string(texts.own(.agency))
        guard !net.isEmpty, code.hasPrefix(net), code != net else {
            // Its network was too long to be written.
            return EventName(code: code, net: code, netCode: code)
        }
        var rest = code.dropFirst(net.count)
        if rest.first == ":", rest.count > 1 { rest = rest.dropFirst() }
        var name = EventName(code: code, net: net, netCode: String(rest))
        let host = String(authority.prefix { $0 != "/" })
        name.url = EventNaming.page(of: name, atHost: host)
        return name
    }
}

extension EventNaming {
    fileprivate mutating func name(_ texts: QuakeMLEvent.Texts, _ choice: QuakeMLTranslator.Choice)
        -> EventName
    {
        let event = texts.event
        let publicID = texts.string(texts.text(event.publicID))
        if let source = texts.text(event.source), let sourceID = texts.text(event.sourceID) {
            let network = texts.string(source).lowercased()
            return Self.nameOfComCat(texts.string(sourceID), network: network, publicID: publicID)
        }
        let agency = texts.own(.agency) ?? texts.field(.originAgency, of: choice.origin)
        let author = texts.own(.author) ?? texts.field(.originAuthor, of: choice.origin)
        return name(
            StatedName(id: publicID, contributor: texts.string(agency), author: texts.string(author)))
    }
}

extension QuakeMLTranslator {
    /// Which parts of an event count.
    struct Choice {
        var origin: QuakeMLEvent.Part?
        var magnitude: QuakeMLEvent.Part?
        var mechanism: QuakeMLEvent.Part?
        var place: UnsafeBufferPointer<UInt8>?
        /// The event's type in a document of Quakes', if QuakeML has no word for it.
        var ownType: [UInt8]?

        /// The preferred ones; else the first origin, and the first magnitude that names it, or the first of all.
        init(_ texts: QuakeMLEvent.Texts) {
            func preferred(_ kind: QuakeMLPart, _ field: QuakeMLField) -> QuakeMLEvent.Part? {
                guard let id = texts.own(field) else { return nil }
                return texts.parts(kind).first { texts.text($0.id)?.elementsEqual(id) == true }
            }
            let origin = preferred(.origin, .preferredOrigin) ?? texts.parts(.origin).first { _ in true }
            self.origin = origin
            magnitude =
                preferred(.magnitude, .preferredMagnitude)
                ?? texts.parts(.magnitude).first { magnitude in
                    guard let origin, let named = texts.field(.magnitudeOrigin, of: magnitude) else {
                        return false
                    }
                    return texts.text(origin.id)?.elementsEqual(named) == true
                } ?? texts.parts(.magnitude).first { _ in true }
            mechanism =
                preferred(.mechanism, .preferredMechanism) ?? texts.parts(.mechanism).first { _ in true }
            place = Self.place(texts)
            for comment in texts.parts(.comment) {
                guard let text = texts.field(.commentText, of: comment), text.starts(with: "type: ".utf8)
                else {
                    continue
                }
                ownType = Array(text.dropFirst(6))
            }
        }

        /// The text of the description that says most; a number of a region says nothing.
        private static func place(_ texts: QuakeMLEvent.Texts) -> UnsafeBufferPointer<UInt8>? {
            let order = ["earthquake name", "region name", "nearest cities", "", "Flinn-Engdahl region"]
            var best: (rank: Int, text: UnsafeBufferPointer<UInt8>)?
            for description in texts.parts(.description) {
                guard let text = texts.field(.descriptionText, of: description),
                    let rank = order.firstIndex(
                        of: texts.string(texts.field(.descriptionType, of: description))),
                    rank < best?.rank ?? .max, !text.allSatisfy(\.isDigit)
                else { continue }
                best = (rank, text)
            }
            return best?.text
        }
    }
}

extension QuakeMLEvent.Texts {
    /// A number; nil if it is missing, or unknown.
    func number(_ field: QuakeMLField, _ part: QuakeMLEvent.Part?) throws(Rejection) -> DecimalText? {
        guard let text = self.field(field, of: part) else { return nil }
        switch DecimalText.read(text) {
        case .number(let number): return number
        case .unknown: return nil
        case .notANumber: throw Rejection(.type, "\(field.rawValue): not a number")
        }
    }

    func time(_ field: QuakeMLField, _ part: QuakeMLEvent.Part?) throws(Rejection) -> Instant? {
        guard let text = self.field(field, of: part) else { return nil }
        return try time(text, field.rawValue)
    }

    func time(_ text: UnsafeBufferPointer<UInt8>, _ name: String) throws(Rejection) -> Instant {
        guard let time = TimeText.read(text) else { throw Rejection(.type, "\(name): not a time") }
        return time
    }
}
