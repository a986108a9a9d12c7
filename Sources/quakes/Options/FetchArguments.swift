import ArgumentParser
import Feed

/// How a command fetches over HTTP.
struct FetchArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A PEM file of certificate authorities to trust in addition to the system's.", valueName: "file"))
    var caFile: String?

    var options: FetchOptions {
        var options = FetchOptions()
        options.version = version
        options.authorities = caFile ?? Environment.current["SSL_CERT_FILE"]
        return options
    }
}
