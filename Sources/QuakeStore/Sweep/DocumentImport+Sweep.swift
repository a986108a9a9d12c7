import Feed

// A sweep is a run that reads several answers, one after the other. Deletions are requested first. So if a later answer lists a
// deleted event as existing, the event exists again.
//
// Answers are never paged by offset. If an event were deleted between two pages, the second page would begin one event too late.
// The next sweep would not ask for the skipped event, because that event was revised before the cursor. So a sweep that is too
// large for one answer is divided by origin times. An event moves from one part to another only if it is revised during the
// sweep, and the next sweep asks for such events.
extension DocumentImport {
    mutating func readSweep(_ group: inout LaneTasks, _ progress: (Importer.Progress) -> Void) async throws {
        var missing = try await askForDeletions()
        if let cursor = sweep?.cursor, sweep?.isCursorAhead == true {
            logger.warning(
                "import \(source): the cursor \(cursor) is ahead of the service's clock; sweeping again from \(sweep?.beginning.description ?? "")"
            )
            sweep?.startOver()
            missing = try await askForDeletions()
        }
        while true {
            do {
                try await askForEvents(&group, progress)
                guard let missing else { return }
                try await importBatches(&group)
                throw missing
            } catch is AnotherQuestion {
                // The loop tries again. It ends, because after each such error, the service is known to lack one more ability.
            }
        }
    }

    private mutating func keep(_ windows: ServiceWindows) {
        let service = windows.service
        let lost = (sweep?.service.abilities ?? []).subtracting(service.abilities)
        for ability in EventService.Ability.allCases where lost.contains(ability) {
            let what =
                switch ability {
                case .updates:
                    "updatedafter, so it is asked for the last \(service.daysEach) days each time, and for the last \(service.daysDaily) once a day"
                case .deletions: "includedeleted=only, so its deletions stay unknown"
                case .counts: "count"
                case .geojson: "the USGS's GeoJSON, so its other format is read"
                case .limits: "limit=\(windows.service.limit)"
                }
            logger.notice("import \(source): the service does not support \(what)")
        }
        sweep?.service = service
        sweep?.shown.formUnion(windows.shown)
    }

    // MARK: Deletions

    /// - Returns: the error that ends the sweep after its events have been imported, if deletions are missing.
    private mutating func askForDeletions() async throws -> Failure? {
        guard options.retraction != .never, let sweep, sweep.service.abilities.contains(.deletions) else {
            return nil
        }
        var missing: Failure?
        var (plan, windows) = sweep.questions(ofDeletions: true, options.fetch)
        do {
            try await windows.walk(&plan) { window, _, _, url in
                let before = self.sweep?.deletions ?? StatedDeletions()
                let (given, counted) = try await readDeletions(url)
                guard given >= counted else {
                    self.sweep?.deletions = before
                    throw ShortAnswer(window: window, given: given, counted: counted, asFor: .sweep)
                }
                return (given, counted)
            } took: { _, _, _, _, _ in
            }
        } catch let short as ShortAnswer {
            missing = Failure(
                .badData,
                "the service counts \(short.counted) deletions from \(short.window.lowerBound) to \(short.window.upperBound), but gives \(short.given); the events were imported, and nothing was deleted; the next sweep asks for all of them again"
            )
            self.sweep?.deletions = StatedDeletions()
        } catch is AnotherQuestion {
            self.sweep?.deletions = StatedDeletions()
        } catch is NoDeletions {
            if sweep.proven.contains(.deletions) {
                throw Failure(
                    .badData,
                    "the service answers a request for deleted events with something else; nothing was imported; if it no longer gives its deletions, run: quakes forget \(source)"
                )
            }
            self.sweep?.deletions = StatedDeletions()
            windows.service.abilities.remove(.deletions)
        } catch let unfit as UnfitService {
            logger.warning(
                "import \(source): the service seems to ignore the requested times of deletions, because \(unfit.reason); other deletions stay unknown; to find them, run: quakes verify"
            )
        }
        keep(windows)
        return missing
    }

    /// - Returns: how many deletions the service has given, and how many it says that it gives.
    private mutating func readDeletions(_ url: String) async throws -> (given: Int, counted: Int) {
        var scanner = FeatureScanner()
        var bytes = 0
        do {
            _ = try await reading.read(.url(url), ifChangedSince: nil, options: options.fetch) { chunk in
                bytes += chunk.count
                _ = try chunk.withUnsafeBufferPointer { chunk in
                    try scanner.scan(chunk) { feature in
                        try take(deletion: feature)
                        return true
                    }
                }
                try await storeDeletions()
            }
            try scanner.finish()
        } catch let failure as FeedError where failure.status == 204 {
            return (0, 0)
        } catch FeedError.brokenDocument(_, offset: 0)
            where sweep?.service.isComplete == false && sweep?.cursor == nil
        {
            // The service ignores the format, and always answers in the same one.
            throw NoDeletions()
        }
        intake.batches[0].documentBytes += bytes
        sweep?.note(made: scanner.metadata.generated)
        return (scanner.count, scanner.metadata.count ?? scanner.count)
    }

    private mutating func take(deletion feature: RawFeature) throws {
        do throws(Rejection) {
            if feature.isOversized {
                throw Rejection(.size, "the deletion has \(feature.size) bytes, more than 1 MiB")
            }
            let deletion = try StatedDeletion(feature.bytes)
            sweep?.deletions.append([deletion])
        } catch {
            let rejection = error
            if rejection.reason == .status, sweep?.service.isComplete == false { throw NoDeletions() }
            try intake.batches[0].reject(feature, rejection, isDeletion: true)
        }
    }

    /// Moves deletions out of memory when there are many, so that memory stays bounded.
    private mutating func storeDeletions() async throws {
        try await importRejectedDeletions()
        guard var full = sweep, full.deletions.isFull else { return }
        try await full.deletions.store(of: full.service.host, at: full.moment, on: connection)
        sweep = full
    }

    // MARK: Events

    private mutating func askForEvents(
        _ group: inout LaneTasks, _ progress: (Importer.Progress) -> Void
    ) async throws {
        guard var (plan, windows) = sweep?.questions(ofDeletions: false, options.fetch) else { return }
        defer { keep(windows) }
        do {
            try await windows.walk(&plan) { _, _, _, url in
                try await readEvents(url, &group, progress)
            } took: { _, _, _, plan, _ in
                if plan.next != nil { sweep?.isPartial = true }
            }
        } catch let short as ShortAnswer {
            try await importBatches(&group)
            throw short
        }
    }

    private mutating func readEvents(
        _ url: String, _ group: inout LaneTasks, _ progress: (Importer.Progress) -> Void
    ) async throws -> ServiceWindows.Given {
        try await importBatches(&group)
        let query = FeedSource.url(url)
        scanner = DocumentScanner(of: query)
        do {
            try await readDocument(query, &group, progress)
        } catch let failure as FeedError where failure.status == 204 {
            return (0, nil)
        }
        sweep?.note(made: scanner.metadata.generated)
        if scanner.isIncomplete { sweep?.isPartial = true }
        if scanner.count > 0 { sweep?.hasEvents = true }
        return (scanner.count, scanner.metadata.count)
    }
}

/// The service answered a request for deleted events with existing ones, or in another format than GeoJSON.
private struct NoDeletions: Error {}
