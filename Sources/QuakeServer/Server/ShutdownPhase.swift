enum ShutdownPhase {
    case serving
    /// Load balancers are told to stop sending clients. New requests are still served.
    case draining
    /// No new connections are accepted. Answers under way may still take a while.
    case closing
}
