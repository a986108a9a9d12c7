import ArgumentParser

struct SpreadsheetOption: ParsableArguments {
    @Flag(
        help:
            "With --format csv: make texts safe to open in a spreadsheet. Control characters are replaced, and a text that looks like a formula begins with an apostrophe."
    )
    var spreadsheet = false

    var csv: CSV { CSV(isForSpreadsheet: spreadsheet) }

    func validate(isCSV: Bool) throws {
        if spreadsheet, !isCSV { throw ValidationError("--spreadsheet needs --format csv") }
    }
}
