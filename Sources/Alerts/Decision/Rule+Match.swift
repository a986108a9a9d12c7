import Feed

extension Rule {
    /// Whether the earthquake's magnitude, place and agencies match the rule. Its age does not matter. A test or an exercise
    /// never matches.
    func covers(_ event: AlertEvent) -> Bool {
        isReached(by: event) && accepts(event.agencies) && !event.isExercise
    }

    /// Whether the earthquake is large enough for the rule at its location.
    func isReached(by event: AlertEvent) -> Bool {
        // Most earthquakes of a large commit are too small for every step. This comparison skips them cheaply.
        guard let magnitude = event.magnitude,
            intensity != nil || ladder.contains(where: { magnitude >= $0.magnitude })
        else { return false }
        return ladder.contains { $0.within == nil && magnitude >= $0.magnitude }
            || places.contains { reason(event, magnitude, at: $0) != nil }
    }

    /// Whether the earthquake reaches a higher step of the ladder than its earlier version did.
    func isReached(by event: AlertEvent, higherThanBy before: AlertEvent) -> Bool {
        let earlier = highestStep(of: before)
        // If the earlier version matched by its intensity alone, the first step is not higher than that.
        if earlier == -.infinity, isReached(by: before) { return false }
        return highestStep(of: event) > earlier
    }

    private func highestStep(of event: AlertEvent) -> Double {
        guard let magnitude = event.magnitude else { return -.infinity }
        let nearest = places.map { $0.point.distance(to: event.point) }.min() ?? .infinity
        return ladder.filter { magnitude >= $0.magnitude && nearest <= $0.within ?? .infinity }
            .map(\.magnitude).max() ?? -.infinity
    }

    private func accepts(_ names: [String]) -> Bool {
        networks.isEmpty || names.contains { networks.contains($0.lowercased()) }
    }

    /// Whether the rule allows a first message about the earthquake. At `moment`, the earthquake must be neither too old nor in
    /// the future. It must also have enough stations, unless a person has reviewed it.
    func admits(_ event: AlertEvent, at moment: Instant) -> Bool {
        let age = moment - event.time
        return age + Self.futureTolerance >= .zero && age <= maxAge && trusts(event)
    }

    /// Whether the earthquake has enough stations for the rule, or a person has reviewed it.
    func trusts(_ event: AlertEvent) -> Bool {
        guard let stations, !event.isReviewed else { return true }
        return event.stations ?? 0 >= stations
    }

    /// How far an origin time may be in the future, because clocks differ. An origin time that is further ahead is taken for an
    /// error.
    static let futureTolerance = Duration.seconds(300)

    /// Why the rule matches the earthquake, such as `M 4 or more within 100 km of home`; nil if it does not match.
    func reason(_ event: AlertEvent) -> String? {
        guard covers(event), let magnitude = event.magnitude else { return nil }
        let nearby = places.lazy.compactMap { place in
            self.reason(event, magnitude, at: place).map { "\($0) \(place.name)" }
        }.first
        if let nearby { return nearby }
        let step = ladder.filter { $0.within == nil && magnitude >= $0.magnitude }
            .max { $0.magnitude < $1.magnitude }
        return step.map { "M \(shortest($0.magnitude)) or more anywhere" }
    }

    private func reason(_ event: AlertEvent, _ magnitude: Double, at place: Place) -> String? {
        let distance = place.point.distance(to: event.point)
        var highest: Step?
        for step in ladder where magnitude >= step.magnitude && distance <= step.within ?? -1 {
            if step.magnitude > highest?.magnitude ?? -.infinity { highest = step }
        }
        if let highest, let within = highest.within {
            return "M \(shortest(highest.magnitude)) or more within \(shortest(within)) km of"
        }
        guard let intensity else { return nil }
        let expected = ShakingIntensity(magnitude: magnitude, distance: distance, depth: event.depth)
        return expected.value >= intensity ? "shaking of intensity \(shortest(intensity)) or more at" : nil
    }
}

extension AlertEvent {
    /// Whether the magnitude differs by more than 0.4, or the epicentre by more than 0.5° in latitude or longitude: the limits
    /// for an update in the USGS's notification service. Rounding errors do not count.
    func differsNotably(from other: AlertEvent) -> Bool {
        func exceeds(_ difference: Double, _ limit: Double) -> Bool { abs(difference) > limit + 1e-9 }
        let across = abs(longitude - other.longitude).truncatingRemainder(dividingBy: 360)
        if exceeds(latitude - other.latitude, 0.5) || exceeds(min(across, 360 - across), 0.5) { return true }
        guard let magnitude, let otherMagnitude = other.magnitude else { return false }
        return exceeds(magnitude - otherMagnitude, 0.4)
    }
}
