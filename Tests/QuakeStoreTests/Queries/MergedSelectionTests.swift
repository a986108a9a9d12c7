import Feed
import PostgreSQL
import QuakeStore
import SampleFeed
import Synchronization
import TestSupport
import Testing

@Suite("Selecting earthquakes of several agencies, merged")
struct MergedSelectionTests {
    let server = TestServer.shared

    @Test(
        "Each earthquake has one row: the preferred solution, with the chosen magnitude and all agencies"
    )
    func merged() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"], preferred: "emsc:b", magnitudeFrom: "gfz:a")

            let listed = try await database.merged()

            #expect(listed.map(\.quake.code) == ["emsc:b", "us2", "emsc:c"])
            let first = try #require(listed.first)
            #expect(first.quake.magnitude == 5.3 && first.quake[.magnitudeType].text == "Mw")
            #expect(first.quake[.place].text == "ONE COUNTRY" && first.quake.depth == 15)
            #expect(first.group.code == "us1" && first.group.preferred == "emsc:b")
            #expect(first.group.magnitudeFrom == "gfz:a" && first.group.magnitudeNetwork == "gfz")
            #expect(
                first.group.networks == ["emsc", "gfz", "us"]
                    && first.group.agencies == ["emsc", "gfz", "usgs"])
            #expect(first.group.members == ["emsc:b", "gfz:a", "us1"])
            let alone = try #require(listed.last).group
            #expect(alone.code == "emsc:c" && alone.preferred == "emsc:c" && alone.magnitudeFrom == nil)
            #expect(alone.agencies == ["emsc"] && alone.members == ["emsc:c"])
        }
    }

    @Test("The title of an earthquake names the earthquake's magnitude")
    func title() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.query(
                "update quake set title = 'M 5.0 - region', place = 'region' where code = 'us1'")
            try await database.query("update quake set magnitude = 5.25 where code = 'gfz:a'")
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "us1")
            let own = try await database.merged { $0.values[.code] = ["us1"] }
            #expect(own.map { $0.quake[.title].text } == ["M 5.0 - region"])

            try await database.query("update earthquake set magnitude_from = 'gfz:a'")
            let other = try await database.merged { $0.values[.code] = ["us1"] }
            #expect(other.map { $0.quake[.title].text } == ["M 5.3 - region"])
            for (title, expected) in [
                ("M 5.0 Quarry Blast - region", "M 5.3 Quarry Blast - region"), ("region", "M 5.3 - region"),
            ] {
                try await database.query("update quake set title = \(title) where code = 'us1'")
                let composed = try await database.merged { $0.values[.code] = ["us1"] }
                #expect(composed.map { $0.quake[.title].text } == [expected])
            }
        }
    }

    @Test("Without an association, each row is listed as an earthquake, in the same form")
    func nothingAssociated() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            let rows = try await database.merged()
            #expect(rows.map(\.quake.code) == ["gfz:a", "us1", "emsc:b", "us2", "emsc:c"])
            #expect(rows.allSatisfy { $0.group.code == $0.quake.code && $0.group.members == [$0.quake.code] })
        }
    }

    @Test("Filters apply to an earthquake's magnitude, to its agencies and to the codes of its rows")
    func filters() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            for (filter, expected) in [
                ("magnitude", ["us1"]), ("small", ["us2"]), ("gfz", ["us1"]), ("emsc", ["us1", "emsc:c"]),
                ("code", ["us1"]), ("codes", ["us1", "us2"]), ("place", []), ("contributor", ["us1"]),
                ("limit", ["us1"]),
            ] as [(String, [String])] {
                let listed = try await database.merged { selection in
                    switch filter {
                    case "magnitude": selection.ranges[.magnitude] = 5.2...Double.infinity
                    case "small": selection.ranges[.magnitude] = -Double.infinity...5.25
                    case "gfz": selection.values[.net] = ["GFZ"]
                    case "emsc": selection.values[.net] = ["emsc"]
                    case "code": selection.values[.code] = ["emsc:b"]
                    case "codes": selection.values[.code] = ["gfz:a", "emsc:b", "us2", "nothing"]
                    case "place": selection.place = PlaceText("region")
                    case "contributor": selection.contributors = ["gfz"]
                    default: selection.limit = 1
                    }
                }
                #expect(listed.map(\.quake.code) == expected, "\(filter)")
            }
        }
    }

    @Test(
        "If the preferred row was deleted and no pass has run since, the first of the other rows is listed"
    )
    func deletedPreferred() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"])
            try await database.query("delete from quake where code = 'us1'")
            let first = try #require(try await database.merged().first)
            #expect(first.quake.code == "emsc:b" && first.group.members == ["emsc:b", "gfz:a"])
            #expect(first.quake.magnitude == 5.1, "the deleted row also gave the magnitude")
        }
    }

    /// Rows are grouped, separated and revised at random. The earthquakes are recorded at each token, and later compared with the
    /// past. With many other rows, the past tables are read whole.
    @Test(
        "The list of a past moment has that moment's earthquakes, and the present list equals report.earthquake",
        arguments: [0, 20_001])
    func past(others: Int) async throws {
        try await server.withDatabase { database in
            var random = seededRandom()
            try await database.importAgencies()
            try await database.query(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude)
                select 'other' || n, 'other', n::text, '2020-01-01', '2020-01-01', 0, 0 from generate_series(1, \(others)) as n
                """)
            let codes = ["us1", "gfz:a", "emsc:b", "us2", "emsc:c"]
            var states: [(token: Int, earthquakes: [Listed])] = []
            for step in 0..<20 {
                let chosen = codes.shuffled(using: &random).prefix(1 + Int(random.below(3)))
                switch random.below(6) {
                case 0:
                    try await database.query(
                        "update quake set magnitude = 4 + \(step) / 10.0 where code = \(chosen[0])")
                case 1: try await database.query("delete from quake where code = \(chosen[0])")
                case 2:
                    try await database.query(
                        """
                        insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                        values (\(chosen[0]), case when \(chosen[0]) like '%:%' then split_part(\(chosen[0]), ':', 1) else 'us' end, 'x',
                                6, '2026-01-02', '2026-01-02', 1, 1)
                        on conflict (code) do nothing
                        """)
                case 3:
                    try await database.query("update quake set magnitude = null where code = \(chosen[0])")
                default:
                    let present = try await database.query(
                        "select code from quake where code = any(\(Array(chosen)))"
                    ).map { try $0.decode("code", as: String.self) }
                    if !present.isEmpty {
                        try await database.group(
                            present, preferred: present.last,
                            magnitudeFrom: present.randomElement(using: &random))
                    }
                }
                let token: Int = try await database.query("select history.current_token() as token")[0]
                    .decode("token")
                states.append((token, try await database.merged { $0.values[.net] = ["us", "gfz", "emsc"] }))
                let report = try await database.query(
                    """
                    select preferred, code, magnitude from report.earthquake where code not like 'other%'
                    order by origin_time desc, preferred
                    """)
                let differing = try await database.query(
                    """
                    select r.code from report.earthquake r
                    join report.event_earthquake e on e.code = r.preferred join notify.event n on n.code = r.preferred
                    where (e.earthquake_magnitude, e.earthquake_magnitude_type) is distinct from (r.magnitude, r.magnitude_type)
                       or (n.magnitude, n.magnitude_type) is distinct from (r.magnitude, r.magnitude_type)
                    """)
                #expect(differing.isEmpty)
                #expect(
                    try report.map {
                        try
                            "\($0.decode("preferred", as: String.self)) \($0.decode("code", as: String.self)) \($0.decodeIfPresent("magnitude", as: Double.self) ?? 0)"
                    }
                        == states[step].earthquakes.map {
                            "\($0.quake.code) \($0.group.code) \($0.quake.magnitude ?? 0)"
                        })
            }
            for (token, earthquakes) in others == 0 ? states : states.suffix(5) {
                let past = try await database.merged {
                    $0.asOf = .token(token)
                    $0.values[.net] = ["us", "gfz", "emsc"]
                }
                #expect(past == earthquakes, "at \(token)")
                // Two pages of a grouped list make the whole list.
                var pages: [[String]] = []
                for (offset, limit) in [(0, 2), (2, nil), (0, nil)] as [(Int, Int?)] {
                    pages.append(
                        try await database.grouped {
                            $0.asOf = .token(token)
                            $0.since = Instant("2021-01-01")
                            ($0.offset, $0.limit) = (offset, limit)
                        })
                }
                #expect(pages[0] + pages[1] == pages[2], "at \(token)")
                let large = try await database.merged {
                    $0.asOf = .token(token)
                    $0.since = Instant("2021-01-01")
                    $0.ranges[.magnitude] = 5.2...9
                }
                #expect(large == earthquakes.filter { ($0.quake.magnitude ?? 0) >= 5.2 }, "at \(token)")
                for code in codes.shuffled(using: &random).prefix(2) {
                    let one = try await database.merged {
                        $0.asOf = .token(token)
                        $0.values[.code] = [code]
                    }
                    let expected = earthquakes.filter { $0.group.members.contains(code) }
                    // No pass has run since a row was deleted, so the row's code leads to the rest of its earthquake.
                    #expect(one == expected || expected.isEmpty && one.count <= 1, "\(code) at \(token)")
                }
            }
        }
    }
}

private struct Listed: Equatable {
    let quake: Quake
    let group: EarthquakeGroup
}

extension TestDatabase {
    /// The codes of the selected rows, each with the members of its earthquake.
    fileprivate func grouped(_ change: (inout QuakeSelection) -> Void) async throws -> [String] {
        var selection = QuakeSelection()
        change(&selection)
        return try await withConnection { [selection] connection in
            let found = Mutex<[String]>([])
            try await selection.forEachGrouped(on: connection) { quake, group in
                found.withLock { $0.append("\(quake.code) \(group.members)") }
            }
            return found.withLock { $0 }
        }
    }

    fileprivate func merged(_ change: (inout QuakeSelection) -> Void = { _ in }) async throws -> [Listed] {
        var selection = QuakeSelection()
        selection.isMerged = true
        change(&selection)
        return try await withConnection { [selection] connection in
            let found = Mutex<[Listed]>([])
            try await selection.forEachGrouped(on: connection) { quake, group in
                found.withLock { $0.append(Listed(quake: quake, group: group)) }
            }
            // The count equals the length of the list, and the list without agencies has the same earthquakes.
            let plain = Mutex<[Quake]>([])
            let count = try await selection.read(on: connection) { selected in
                try await selected.forEachQuake { quake in plain.withLock { $0.append(quake) } }
                return try await selected.count()
            }
            #expect(count == found.withLock { $0.count })
            #expect(plain.withLock { $0 } == found.withLock { $0.map(\.quake) })
            return found.withLock { $0 }
        }
    }
}
