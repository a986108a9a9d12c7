enum ShutdownPhase {
    case serving
    /// The health check answers 503, so that load balancers stop sending clients. New requests are still served.
    case draining
    /// No new connections are accepted. Answers under way may still take a while.
    case closing
}
