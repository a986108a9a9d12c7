import ArgumentParser
import Feed

/// How a command fetches over HTTP.
struct FetchArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Certificate authorities to trust besides the system's, as PEM.", valueName: "file"))
    var caFile: String?

    var options: FetchOptions {
        var options = FetchOptions()
        options.version = version
        options.authorities = caFile ?? Environment.current["SSL_CERT_FILE"]
        return options
    }
}
