import CGlibc
import Glibc

/// The cells a character takes on a terminal: 0, 1, 2, or more in some scripts.
///
/// Terminals disagree on rare cases. This function follows most of them: a character is as wide as its scalars together
/// according to wcwidth(3), and an emoji takes 2. A whole ZWJ sequence, a flag, a keycap, and any character that variation
/// selector 16 turns into an emoji also take 2. Strip control characters first.
func terminalWidth(of character: Character) -> Int {
    if let ascii = character.asciiValue { return ascii >= 0x20 && ascii < 0x7F ? 1 : 0 }
    let scalars = character.unicodeScalars
    if scalars.contains("\u{FE0F}"), scalars.first?.properties.isEmoji == true { return 2 }
    if scalars.contains(where: \.properties.isEmojiPresentation) { return 2 }
    return scalars.reduce(0) { $0 + terminalWidth(of: $1) }
}

/// The cells a text takes on a terminal: the sum over its characters.
func terminalWidth(of text: String) -> Int {
    isPlain(text) ? text.utf8.count : text.reduce(0) { $0 + terminalWidth(of: $1) }
}

/// Whether every byte is a printable ASCII character, which takes one cell. This is true for most texts.
private func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { 0x20...0x7E ~= $0 }
}

/// The text if it fits, otherwise its beginning followed by "…". It reads no more of a long text than it shows.
func shortened(_ text: String, to width: Int) -> String {
    var used = 0
    var kept = text.startIndex
    for index in text.indices {
        used += terminalWidth(of: text[index])
        if used < width { kept = text.index(after: index) }
        guard used > width else { continue }
        guard width > 0 else { return "" }
        var beginning = text[..<kept]
        while beginning.last == " " { beginning.removeLast() }
        return beginning + "…"
    }
    return text
}

/// The text if it fits. Otherwise it is shortened before its last comma, if this leaves some room for the beginning:
/// `59 km NW of Pan…, Indonesia`.
func shortened(_ text: String, beforeTailTo width: Int) -> String {
    guard terminalWidth(of: text) > width, let comma = text.lastIndex(of: ",") else {
        return shortened(text, to: width)
    }
    let room = width - terminalWidth(of: String(text[comma...]))
    guard room >= max(8, width / 3) else { return shortened(text, to: width) }
    return shortened(String(text[..<comma]), to: room) + text[comma...]
}

/// The text if it fits. Otherwise it is shortened in its middle. An address loses its scheme before it is cut:
/// `earthqua…/all_hour.geojson`.
func shortened(_ text: String, inMiddleTo width: Int) -> String {
    guard terminalWidth(of: text) > width else { return text }
    let text = text.firstRange(of: "://").map { String(text[$0.upperBound...]) } ?? text
    guard width >= 8, terminalWidth(of: text) > width else { return shortened(text, to: width) }
    var end = text.endIndex
    var room = width * 2 / 3
    while end > text.startIndex {
        let before = text.index(before: end)
        room -= terminalWidth(of: text[before])
        guard room >= 0 else { break }
        end = before
    }
    return shortened(text, to: width - terminalWidth(of: String(text[end...]))) + text[end...]
}

/// Puts the words on lines of at most this width. A word that is wider gets a line for itself. A word that ends in an underscore
/// joins the next one without a space.
func filled(_ words: [String], to width: Int) -> [String] {
    var lines: [String] = []
    for word in words {
        guard let last = lines.last else {
            lines.append(word)
            continue
        }
        let longer = last + (last.hasSuffix("_") ? "" : " ") + word
        if terminalWidth(of: longer) <= width {
            lines[lines.count - 1] = longer
        } else {
            lines.append(word)
        }
    }
    return lines
}

private func terminalWidth(of scalar: Unicode.Scalar) -> Int {
    let before = uselocale(utf8)
    defer { uselocale(before) }
    // wcwidth returns a negative number for a scalar that is not assigned.
    let width = wcwidth(wchar_t(bitPattern: scalar.value))
    return width < 0 ? 1 : Int(width)
}

nonisolated(unsafe) private let utf8 = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)

/// The text with U+FFFD in place of every character that could control a terminal or break a line of a table.
///
/// Text from feeds must not carry escape sequences to a terminal, nor make a line look different from what it says. The replaced
/// characters are C0 (including tab and newline), DEL, C1, line and paragraph separators, and the bidirectional embeddings,
/// overrides and isolates (U+202A–202E, U+2066–2069; Unicode TR #36, "Bidirectional Text Spoofing"). Right-to-left letters and
/// marks stay. The result is safe to print. Characters are replaced rather than removed, so that people see that something was
/// there.
func strippingControlCharacters(_ text: String) -> String {
    guard !isPlain(text), text.unicodeScalars.contains(where: isControl) else { return text }
    var stripped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { stripped.append(isControl(scalar) ? "\u{FFFD}" : scalar) }
    return String(stripped)
}

private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
}
