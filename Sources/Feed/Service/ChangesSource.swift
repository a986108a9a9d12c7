/// The changes of another Quakes server as a source, such as `http://HOST:8080/changes`: the stream of `quakes serve`.
public struct ChangesSource: Sendable, Hashable {
    public let url: String

    public init?(_ source: FeedSource) {
        guard case .url(let url) = source, url.wholeMatch(of: #/[^?\#]*/changes/#) != nil else { return nil }
        self.url = url
    }

    public var host: String { FeedIdentity.host(of: url) ?? "" }

    /// The URL of all changes after a position; without a position, the URL of all rows. The server may delay its response until
    /// the first change, for at most `seconds`.
    public func poll(after position: String?, waiting seconds: Int) -> String {
        "\(url)?\(position.map { "after=\($0)&" } ?? "")wait=\(seconds)s"
    }
}
