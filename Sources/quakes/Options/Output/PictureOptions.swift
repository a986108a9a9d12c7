import ArgumentParser

struct PictureOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write the picture to this file, whose name ends in .svg or .png. PNG needs rsvg-convert. (default: SVG to standard output)",
            valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("The title above the picture.", valueName: "text"))
    var title: String?

    func validate() throws {
        guard let output else { return }
        guard [".svg", ".png"].contains(where: output.lowercased().hasSuffix) else {
            throw ValidationError("--output \(output): the name has to end in .svg or .png")
        }
    }

    func write(_ svg: String) async throws {
        guard let output else { return StandardOutput.write(svg) }
        if output.lowercased().hasSuffix(".png") {
            try await ReplacedFile(path: output).writePNG(svg)
        } else {
            try ReplacedFile(path: output).write(svg)
        }
    }
}
