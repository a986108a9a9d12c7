struct QuakeMLTranslator {
    private(set) var naming: EventNaming
    private(set) var writer = FeatureWriter()
    var units = QuakeMLUnits()

    init(_ naming: EventNaming) {
        self.naming = naming
    }

    /// - Returns: the reason for the rejection; nil if `writer` has the feature.
    mutating func read(_ event: borrowing QuakeMLEvent) -> Rejection? {
        var name = EventName(code: "", net: "", netCode: "")
        do throws(Rejection) {
            try event.withTexts { (texts) throws(Rejection) in
                var choice = Choice(texts)
                choice.isInKilometres = units.areKilometres(texts, choice.origin)
                name = texts.isOwn ? Self.ownName(texts) : naming.name(texts, choice)
                guard !texts.event.isOversized else {
                    throw Rejection(.size, "the event's texts have more than 1 MiB")
                }
                guard !name.netCode.isEmpty else { throw Rejection(.missing, "publicID is missing") }
                if texts.isOwn {
                    choice.magnitude = try ownMagnitude(texts, chosen: choice.magnitude)
                } else if try isGone(name, texts, choice) {
                    return try writer.retract(name, revised: updated(texts, choice))
                }
                writer.begin(name)
                try write(texts, choice)
            }
            return nil
        } catch {
            writer.write(onlyCode: name.code)
            return error
        }
    }

    // MARK: The event

    private mutating func write(_ texts: QuakeMLEvent.Texts, _ choice: Choice) throws(Rejection) {
        guard choice.origin != nil else { throw Rejection(.missing, "the event has no origin") }
        guard let time = try texts.time(.originTime, choice.origin) else {
            throw Rejection(.missing, "origin/time is missing")
        }
        writer.append("mag", try texts.number(.magnitudeValue, choice.magnitude))
        if let type = texts.field(.magnitudeType, of: choice.magnitude) { writer.append("magType", type) }
        if let place = choice.place { writer.append("place", place) }
        if let type = texts.own(.type) {
            writer.append("type", texts.isOwn ? choice.ownType ?? Array(type) : EventKind.name(of: type))
        }
        if let status = status(texts, choice) { writer.append("status", status.utf8) }
        writer.append("time", time: time)
        // The origin time replaces a missing revision time, because a revision cannot be earlier.
        writer.append("updated", time: try updated(texts, choice) ?? time)
        writer.append("nst", try texts.number(.originStations, choice.origin))
        writer.append("rms", try texts.number(.originResidual, choice.origin))
        writer.append("gap", try texts.number(.originGap, choice.origin))
        let distance = try texts.number(.originDistance, choice.origin)
        if choice.isInKilometres, let distance {
            writer.append("dmin", rounded: distance.value / QuakeMLUnits.kilometresPerDegree)
        } else {
            writer.append("dmin", distance)
        }
        try writer.appendExtra(texts, choice)
        writer.end(
            longitude: try texts.number(.originLongitude, choice.origin),
            latitude: try texts.number(.originLatitude, choice.origin),
            depth: try texts.length(.originDepth, choice))
    }

    var notes: [String] { [naming.note, units.note].compactMap(\.self) }

    private func isGone(
        _ name: EventName, _ texts: QuakeMLEvent.Texts, _ choice: Choice
    ) throws(Rejection) -> Bool {
        if status(texts, choice) == "deleted" { return true }
        return name.isWithdrawn(
            by: try texts.number(.originLatitude, choice.origin),
            try texts.number(.originLongitude, choice.origin),
            try texts.number(.magnitudeValue, choice.magnitude))
    }

    /// The latest creation time of the event, its origin, its magnitude and its mechanism. The event's own creation time is not
    /// enough, because SeisComP never changes it.
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

    /// The status in the USGS's words, such as `reviewed` if a person has checked the event; nil if the document does not say.
    private func status(_ texts: QuakeMLEvent.Texts, _ choice: Choice) -> String? {
        let status = texts.string(texts.field(.originStatus, of: choice.origin))
        if texts.isRejected(choice.origin) || texts.own(.type)?.elementsEqual("not existing".utf8) == true {
            return "deleted"
        }
        switch (texts.string(texts.field(.originMode, of: choice.origin)), status) {
        case ("manual", _), (_, "confirmed"), (_, "reviewed"), (_, "final"), (_, "reported"):
            return "reviewed"
        case ("automatic", _), (_, "preliminary"): return "automatic"
        default: return nil
        }
    }

    /// The magnitude of an event that Quakes wrote. An answer to a query with `merge` may have magnitudes of other
    /// agencies' events, which must not replace the event's own.
    private func ownMagnitude(
        _ texts: QuakeMLEvent.Texts, chosen: QuakeMLEvent.Part?
    ) throws(Rejection) -> QuakeMLEvent.Part? {
        let id = texts.string(texts.text(texts.event.publicID)) + "/magnitude"
        let chosenID = texts.string(chosen.flatMap { texts.text($0.id) })
        guard chosenID != id, chosenID.contains(QuakeMLEvent.query) else { return chosen }
        let own = texts.parts(.magnitude).first { texts.string(texts.text($0.id)) == id }
        guard let own else {
            throw Rejection(
                .missing,
                "the event's own magnitude is missing; request the document without merge, includeallorigins and includeallmagnitudes"
            )
        }
        return own
    }

    // MARK: Names

    /// The name of an event that Quakes wrote, from its id `smi:HOST/fdsnws/event/1/query?eventid=CODE`.
    private static func ownName(_ texts: QuakeMLEvent.Texts) -> EventName {
        let identifier = EventIdentifier(texts.string(texts.text(texts.event.publicID)))
        let code = identifier.id[...].unescaped(by: "~")
        let net = texts.string(texts.own(.agency))
        guard !net.isEmpty, code.hasPrefix(net), code != net else {
            // The document does not name the network if the network's name was too long for QuakeML.
            return EventName(code: code, net: code, netCode: code)
        }
        var rest = code.dropFirst(net.count)
        if rest.first == ":", rest.count > 1 { rest = rest.dropFirst() }
        var name = EventName(code: code, net: net, netCode: String(rest))
        name.url = EventNaming.page(of: name, atHost: identifier.owner)
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
        let workers = [
            texts.own(.agency) ?? texts.field(.originAgency, of: choice.origin),
            texts.own(.author) ?? texts.field(.originAuthor, of: choice.origin),
        ]
        return name(
            StatedName(
                id: publicID, workers: workers.map(texts.string),
                time: texts.field(.originTime, of: choice.origin).flatMap { TimeText.read($0) }))
    }
}

extension QuakeMLTranslator {
    struct Choice {
        var origin: QuakeMLEvent.Part?
        var magnitude: QuakeMLEvent.Part?
        var mechanism: QuakeMLEvent.Part?
        var place: UnsafeBufferPointer<UInt8>?
        /// Whether lengths and distances are in kilometres.
        var isInKilometres = false
        /// The event's type in the table, from the comment that Quakes writes if the type in QuakeML differs; nil without such a
        /// comment.
        var ownType: [UInt8]?

        /// Chooses the preferred origin, magnitude and mechanism. Without a preference, it chooses the first origin that is not
        /// rejected (or else the first origin), the first magnitude that refers to this origin (or else the first magnitude), and
        /// the first mechanism.
        init(_ texts: QuakeMLEvent.Texts) {
            func preferred(_ kind: QuakeMLPart, _ field: QuakeMLField) -> QuakeMLEvent.Part? {
                guard let id = texts.own(field) else { return nil }
                return texts.parts(kind).first { texts.text($0.id)?.elementsEqual(id) == true }
            }
            let origin =
                preferred(.origin, .preferredOrigin)
                ?? texts.parts(.origin).first { !texts.isRejected($0) }
                ?? texts.parts(.origin).first { _ in true }
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

        /// The description that says most about the place. A description of the type `earthquake name` comes last, because it is
        /// a place in ComCat but a number in Global CMT. Other descriptions, such as the number of a region or a list of cities,
        /// are not used.
        private static func place(_ texts: QuakeMLEvent.Texts) -> UnsafeBufferPointer<UInt8>? {
            let order = ["region name", "", "flinn-engdahl region", "earthquake name"]
            var best: (rank: Int, text: UnsafeBufferPointer<UInt8>)?
            for description in texts.parts(.description) {
                guard let text = texts.field(.descriptionText, of: description),
                    let rank = order.firstIndex(
                        of: texts.string(texts.field(.descriptionType, of: description)).lowercased()),
                    rank < best?.rank ?? .max, !text.allSatisfy(\.isDigit)
                else { continue }
                best = (rank, text)
            }
            return best?.text
        }
    }
}

extension QuakeMLEvent.Texts {
    func isRejected(_ origin: QuakeMLEvent.Part?) -> Bool {
        field(.originStatus, of: origin)?.elementsEqual("rejected".utf8) == true
    }

    func number(_ field: QuakeMLField, _ part: QuakeMLEvent.Part?) throws(Rejection) -> DecimalText? {
        guard let text = self.field(field, of: part) else { return nil }
        return try DecimalText.optional(text, named: field.rawValue)
    }

    func length(
        _ field: QuakeMLField, _ choice: QuakeMLTranslator.Choice
    ) throws(Rejection) -> DecimalText? {
        let length = try number(field, choice.origin)
        return choice.isInKilometres ? length : length?.inKilometres
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
