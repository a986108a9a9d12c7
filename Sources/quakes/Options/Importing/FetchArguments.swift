import ArgumentParser
import Feed

struct FetchArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A PEM file of certificate authorities to trust in addition to the system's.", valueName: "file"))
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "An address at which a service's operators can reach you, such as mail@example.org. It is sent in the User-Agent.",
            valueName: "address"))
    var contact: String?

    var options: FetchOptions {
        var options = FetchOptions()
        options.version = version
        options.contact = contact
        options.authorities = caFile ?? Environment.current["SSL_CERT_FILE"]
        return options
    }
}
