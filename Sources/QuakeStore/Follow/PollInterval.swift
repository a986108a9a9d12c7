/// How often a follower polls when it hears nothing.
public struct PollInterval: Sendable {
    /// While it listens.
    public var listening: Duration
    /// On a hot standby, which refuses LISTEN.
    public var standby: Duration
    /// How long the server may take to give a sign of life before the connection counts as lost.
    public var answer: Duration

    public init(
        listening: Duration = .seconds(30), standby: Duration = .seconds(1), answer: Duration = .seconds(10)
    ) {
        (self.listening, self.standby, self.answer) = (listening, standby, answer)
    }
}
