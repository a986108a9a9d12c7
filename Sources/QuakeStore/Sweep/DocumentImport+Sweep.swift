import Feed

// Sweeps: a run of several answers, one after the other. The deletions come first, so that an event which the events' answers
// list was there later.
//
// Answers are never paged by number. If an event is deleted between two pages, the second one begins one event too late, and the
// skipped event was revised before the next sweep's cursor. So a sweep that is too large for one answer is cut by origin times. An
// event that moves from one part to another meanwhile was revised meanwhile, and the next sweep asks for it.
extension DocumentImport {
    mutating func readSweep(_ group: inout LaneTasks, _ progress: (Importer.Progress) -> Void) async throws {
        try await askForDeletions()
        if let cursor = sweep?.cursor, sweep?.isCursorAhead == true {
            logger.warning(
                "import \(source): the cursor \(cursor) is ahead of the service's clock; sweeping again from \(sweep?.beginning.description ?? "")"
            )
            sweep?.startOver()
            try await askForDeletions()
        }
        while true {
            do {
                return try await askForEvents(&group, progress)
            } catch is AnotherQuestion {
                // Each time, the service is known to have one ability less.
            }
        }
    }

    // MARK: Deletions

    private mutating func askForDeletions() async throws {
        guard options.retraction != .never, var plan = sweep?.plan,
            sweep?.service.abilities.contains(.deletions) == true
        else { return }
        var parts = 0
        while let window = plan.next {
            guard var question = sweep?.question(window, of: plan) else { return }
            try await pause(before: &parts)
            question.isOfDeletions = true
            var given = 0
            do {
                given = try await readDeletions(question)
            } catch  where isRefusal(error) {
                if !(error is NoDeletions), try await !refuses(question) { throw error }
                return lack(.deletions)
            }
            if given >= plan.limit {
                if plan.hadTooMany(window) { continue }
                return logger.warning(
                    "import \(source): the service gives \(given) deletions of one millisecond, so it ignores the requested times; other deletions stay unknown: see quakes verify"
                )
            }
            plan.took(window, events: given)
        }
    }

    /// How long a sweep waits before each part but the first.
    private static let pause: Duration = .seconds(1)

    private func pause(before parts: inout Int) async throws {
        if parts > 0 { try await options.fetch.sleep(Self.pause) }
        parts += 1
    }

    private mutating func readDeletions(_ question: EventService.Question) async throws -> Int {
        guard let sweep else { return 0 }
        var scanner = FeatureScanner()
        var bytes = 0
        do {
            _ = try await reading.read(
                .url(sweep.service.queryURL(of: question)), ifChangedSince: nil, options: options.fetch
            ) { chunk in
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
            return 0
        }
        intake.batches[0].documentBytes += bytes
        self.sweep?.made = sweep.made ?? scanner.metadata.generated
        return scanner.count
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

    /// Bounds what is in memory, however many deletions there are.
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
        guard var plan = sweep?.plan else { return }
        var parts = 0
        while let window = plan.next {
            guard let question = sweep?.question(window, of: plan) else { return }
            try await pause(before: &parts)
            let count = try await count(question)
            if let count, count > plan.limit, plan.hadTooMany(window) { continue }
            var given = 0
            if count != 0 {
                do {
                    given = try await readEvents(question, &group, progress)
                } catch let failure as FeedError where failure.status == 413 {
                    // The standard's word for too many.
                    if plan.hadTooMany(window) { continue }
                    throw failure
                }
                let promised = max(count ?? 0, scanner.metadata.count ?? 0)
                // If the service's count has dropped to that, some of them were just deleted.
                if given < promised, try await self.count(question) ?? promised > given {
                    let short = ShortAnswer(window: window, given: given, counted: promised, isSweep: true)
                    if plan.hadTooFew(window, short) { continue }
                    try await importBatches(&group)
                    throw short
                }
            }
            if given >= plan.limit {
                if plan.hadTooMany(window) { continue }
                try sweep?.service.checkWhole(given, count, limit: plan.limit, for: .sweep)
            }
            plan.took(window, events: given)
            if plan.next != nil {
                sweep?.isPartial = true
                try await importBatches(&group)
            }
        }
    }

    private mutating func readEvents(
        _ question: EventService.Question, _ group: inout LaneTasks, _ progress: (Importer.Progress) -> Void
    ) async throws -> Int {
        guard let sweep else { return 0 }
        let query = FeedSource.url(sweep.service.queryURL(of: question))
        scanner = DocumentScanner(of: query)
        do {
            try await readDocument(query, &group, progress)
        } catch let failure as FeedError where failure.status == 204 {
            return 0
        } catch let failure as FeedError where isRefusal(failure) {
            guard try await findLack(after: question) else { throw failure }
            throw AnotherQuestion()
        }
        self.sweep?.made = sweep.made ?? scanner.metadata.generated
        if scanner.isIncomplete { self.sweep?.isPartial = true }
        return scanner.count
    }

    /// How many events there are; nil if the service does not count.
    private mutating func count(_ question: EventService.Question) async throws -> Int? {
        guard let service = sweep?.service, service.abilities.contains(.counts) else { return nil }
        do {
            return try await service.count(question, for: .sweep, options.fetch)
        } catch let refusal as FeedError where isRefusal(refusal) {
            // Perhaps it does not support the time of revision only.
            var everything = question
            everything.updatedAfter = nil
            do {
                _ = try await EventService.count(at: service.countURL(of: everything), options: options.fetch)
            } catch let refusal as FeedError where isRefusal(refusal) {
                lack(.counts)
                return nil
            }
            guard try await refuses(question) else { throw refusal }
            lack(.updates)
            throw AnotherQuestion()
        }
    }

    // MARK: The service

    /// Whether a service of unknown abilities says that it does not support a question.
    private func isRefusal(_ error: any Error) -> Bool {
        guard let service = sweep?.service else { return false }
        return service.isRefusal(error) || error is NoDeletions
    }

    private mutating func lack(_ ability: EventService.Ability) {
        sweep?.service.abilities.remove(ability)
        if ability == .deletions { sweep?.deletions = StatedDeletions() }
        let what =
            switch ability {
            case .updates:
                "updatedafter, so it is asked for the last \(sweep?.service.days.each ?? 0) days each time, and for the last \(sweep?.service.days.daily ?? 0) once a day"
            case .deletions: "includedeleted=only, so its deletions stay unknown"
            case .counts: "count"
            case .geojson: "the USGS's GeoJSON, so its text is read"
            case .limits: "limit"
            }
        logger.notice("import \(source): the service does not support \(what)")
    }

    /// Whether a service that has refused a question refuses it again. If not, it supports the question.
    private func refuses(_ question: EventService.Question) async throws -> Bool {
        try await sweep?.service.refusal(of: question, options.fetch) != nil
    }

    /// Finds out what a service that has refused a question does not support.
    ///
    /// - Returns: false if it answers by now.
    /// - Throws: `UnfitService` if it answers in no form that is read; `FeedError`.
    private mutating func findLack(after question: EventService.Question) async throws -> Bool {
        guard var service = sweep?.service else { return false }
        let lacks = try await service.findForm(for: .sweep, options.fetch)
        if lacks.isEmpty, try await !refuses(question) { return false }
        for ability in lacks { lack(ability) }
        // It answers the plainest question.
        lack(.updates)
        return true
    }
}

/// The service gave existing events when it was asked for deleted ones.
private struct NoDeletions: Error {}

/// The service has refused a question, and is known now to lack an ability.
private struct AnotherQuestion: Error {}

extension BackfillPlan {
    /// Notes that a window held more than the service gives at once. Nearly all revised events are young, so the next one is
    /// much shorter.
    fileprivate mutating func hadTooMany(_ window: Range<Instant>) -> Bool {
        hadTooMany(window, count: 16 * limit)
    }
}
