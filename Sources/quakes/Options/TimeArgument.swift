import ArgumentParser
import Feed
import QuakeStore

extension PastMoment: ExpressibleByArgument {
    public init?(argument: String) {
        if let token = Int(argument), token >= 0 {
            self = .token(token)
        } else if let time = TimeArgument(argument: argument) {
            self = .time(time.instant)
        } else {
            return nil
        }
    }
}

/// A point in time, given as such or as how long ago it was.
struct TimeArgument: ExpressibleByArgument {
    let instant: Instant

    init?(argument: String) {
        if let ago = DurationArgument(argument: argument) {
            instant = Instant(milliseconds: Instant.now.milliseconds - Int64(ago.duration / .milliseconds(1)))
        } else if let instant = Instant(argument) {
            self.instant = instant
        } else {
            return nil
        }
    }
}
