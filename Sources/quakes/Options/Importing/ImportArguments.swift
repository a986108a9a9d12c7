import ArgumentParser
import Feed
import QuakeStore

extension FeedSource: ExpressibleByArgument {
    public init?(argument: String) {
        self.init(argument)
    }
}

extension Importer.Retraction: ExpressibleByArgument {}

extension RejectLimit: ExpressibleByArgument {
    public init?(argument: String) {
        if argument.hasSuffix("%"), let percent = Double(argument.dropLast()), (0...100).contains(percent) {
            self = .percent(percent)
        } else if let count = Int(argument), count >= 0 {
            self = .count(count)
        } else {
            return nil
        }
    }

    public var defaultValueDescription: String { "" }
}
