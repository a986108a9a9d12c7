import ArgumentParser

struct SpreadsheetOption: ParsableArguments {
    @Flag(
        help:
            "With --format csv: make texts safe to open in a spreadsheet. Control characters are replaced, and a text that looks like a formula gets an apostrophe in front."
    )
    var spreadsheet = false

    var csv: CSV { CSV(isForSpreadsheet: spreadsheet) }

    func validate(isCSV: Bool) throws {
        if spreadsheet, !isCSV { throw ValidationError("--spreadsheet needs --format csv") }
    }
}
