import Testing

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs, and nothing else: what has to be fast measures itself.
    ///
    /// All tests start at once, and the time in which one waits for its turn on the server, or for a thread, counts as
    /// its own. So this is longer than all of them together take on a busy machine.
    public static var endsHanging: Self { .timeLimit(.minutes(30)) }
}
