import Testing

@testable import Alerts

@Suite("Attempts") struct AttemptTests {
    @Test func waitsFollowStandardWebhooks() {
        let waits = (1...20).map {
            AttemptSchedule.wait(after: DeliveryFailure("x"), attempts: $0, random: 0)
        }
        let seconds: [Int] = waits.prefix { $0 != nil }.map { Int($0! / .seconds(1)) }
        let sum: Int = seconds.reduce(0, +)
        #expect(seconds == [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400])
        #expect(waits.dropFirst(9).allSatisfy { $0 == nil })
        #expect(AttemptSchedule.attempts == 10)
        // The sum is 75 hours, 35 minutes and 5 seconds.
        #expect(sum == 272_105)
    }

    @Test func aWaitIsLengthenedAtRandomByUpToATenth() {
        #expect(AttemptSchedule.wait(after: DeliveryFailure("x"), attempts: 2, random: 0.5) == .seconds(315))
    }

    @Test func aLongerWaitThatTheReceiverRequestsIsUsed() {
        func wait(_ seconds: Int, _ attempts: Int = 1) -> Duration? {
            AttemptSchedule.wait(
                after: DeliveryFailure("x", retryAfter: .seconds(seconds)), attempts: attempts, random: 0)
        }
        #expect(wait(120) == .seconds(120))
        #expect(wait(1) == .seconds(5))
        #expect(wait(120, 10) == nil)
    }

    @Test func aFinalFailureIsNotRetried() {
        #expect(
            AttemptSchedule.wait(after: DeliveryFailure("x", isFinal: true), attempts: 1, random: 0) == nil)
    }
}
