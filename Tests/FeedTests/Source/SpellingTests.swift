import Feed
import Glibc
import TestSupport
import Testing

@Suite("Spelling")
struct SpellingTests {
    @Test(
        "A misspelt word gets a suggestion, and any other word gets none",
        arguments: [
            ("all_dya", "all_day"), ("al_day", "all_day"), ("all_dayy", "all_day"), ("all-hour", "all_hour"),
            ("ALL_WEEK", "all_week"), ("2.5_mont", "2.5_month"), ("nosuch", nil), ("a", nil), ("", nil),
            ("feed.geojson", nil),
        ] as [(String, String?)])
    func suggestion(word: String, meant: String?) {
        #expect(closestSpelling(of: word, among: FeedSource.summaryFeeds) == meant)
    }

    @Test(
        "Two adjacent letters in the wrong order are one mistake, like an insertion, a removal or a replacement"
    )
    func distances() {
        #expect(
            closestSpelling(of: "abcd", among: ["badc"]) == nil, "two mistakes are too many for four letters")
        #expect(closestSpelling(of: "abcdef", among: ["badcef"]) == "badcef")
        #expect(closestSpelling(of: "abcdef", among: ["abcdxyz"]) == nil)
        #expect(closestSpelling(of: "abcdef", among: ["abcxyf", "abcxef"]) == "abcxef", "the closest one")
    }

    @Test("Comparing a word of 100,000 letters takes less than 20 times as long as reading it")
    func endless() {
        let word = String(repeating: "x", count: 100_000)
        let reading = processorTime { _ = Array(word.lowercased()) }
        let comparing = processorTime {
            #expect(closestSpelling(of: word, among: FeedSource.summaryFeeds) == nil)
        }
        // Comparing the whole word with each name would take hundreds of times as long.
        #expect(comparing < 20 * reading)
    }

    /// The processor time that this thread spends in `body`, in nanoseconds. Other processes do not affect it.
    private func processorTime(_ body: () -> Void) -> Int {
        func now() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        let start = now()
        body()
        return now() - start
    }

    @Test("The error for a missing file suggests a feed whose name is similar")
    func missingFile() async {
        for (path, reason) in [
            ("all_dya", "No such file or directory; did you mean all_day?"),
            ("/no/such/file", "No such file or directory"),
        ] {
            await #expect(throws: FeedError.noInput(path: path, reason: reason)) {
                try await FeedSource(path).read { _ in }
            }
        }
    }

    @Test("Only a summary feed of the USGS has a short name")
    func shortNames() {
        #expect(FeedSource("4.5_week").shortName == "4.5_week")
        #expect(FeedSource("\(FeedSource("all_day"))").shortName == "all_day")
        for other in ["./all_day", "-", "https://example.org/summary/all_day.geojson"] {
            #expect(FeedSource(other).shortName == nil)
        }
    }
}
