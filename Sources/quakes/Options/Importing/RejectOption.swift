import ArgumentParser
import QuakeStore

struct RejectOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Fail if more features of a document than this are rejected: a number or a percentage. (default: the greater of 10 and 1%)",
            valueName: "n|p%"))
    var maxRejects: RejectLimit = .standard
}
