import Alerts
import Feed
import Foundation

/// A message as a plain-text mail (RFC 5322). It is encoded in ASCII, because libcurl announces neither 8BITMIME nor SMTPUTF8.
/// Lines end in CRLF. The lines of the subject and the text have at most 76 characters.
struct MailText {
    let message: Message
    let from: String
    let to: String
    /// When the mail is sent.
    let date: Instant

    var bytes: [UInt8] {
        var lines = [
            "Date: \(date.internetDate(zone: "+0000"))",
            "From: Quakes <\(from)>",
            "To: <\(to)>",
            "Subject: \(Self.encodedHeader(message.title, after: "Subject: ".count))",
            "Message-ID: \(identifier(message.id))",
        ]
        if message.thread != message.id {
            // Mail programs show the messages about one earthquake as one conversation.
            lines += [
                "In-Reply-To: \(identifier(message.thread))", "References: \(identifier(message.thread))",
            ]
        }
        lines += [
            // This field suppresses automatic replies such as vacation notices (RFC 3834).
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: quoted-printable",
            "",
        ]
        lines += Self.quotedPrintable(message.text)
        return Array(lines.joined(separator: "\r\n").utf8) + Array("\r\n".utf8)
    }

    /// The Message-ID of a mail: the message's id, with a slash for each colon.
    private func identifier(_ id: String) -> String {
        let local = id.map { $0 == ":" ? "/" : String($0) }.joined()
        return "<\(local)@\(from.split(separator: "@").last ?? "localhost")>"
    }

    // MARK: Encodings

    /// The text of a header. Short ASCII text stays as it is. Other text becomes encoded words (RFC 2047) that never split a
    /// character.
    static func encodedHeader(_ text: String, after used: Int) -> String {
        let text = String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : $0 }))
        if text.utf8.count + used <= 76, text.allSatisfy(\.isASCII), !text.contains("=?") { return text }
        var words: [[UInt8]] = [[]]
        for scalar in text.unicodeScalars {
            // 45 bytes are 60 characters of base64; with `=?utf-8?B?` and `?=` they are 72.
            let limit = words.count == 1 ? 45 - used : 45
            let bytes = Array(String(scalar).utf8)
            if words[words.count - 1].count + bytes.count > limit { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\r\n ")
    }

    /// The text in lines of quoted-printable (RFC 2045, section 6.7). A dot at the start of a line is encoded, too.
    static func quotedPrintable(_ text: String) -> [String] {
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        return lines.flatMap { line -> [String] in
            var encoded = [""]
            let bytes = Array(line.utf8)
            for (index, byte) in bytes.enumerated() {
                let isLast = index == bytes.count - 1
                let isStart = encoded[encoded.count - 1].isEmpty
                let isPlain =
                    (33...126).contains(byte) && byte != UInt8(ascii: "=")
                    && !(isStart && byte == UInt8(ascii: "."))
                    || byte == UInt8(ascii: " ") && !isLast
                let part = isPlain ? String(Unicode.Scalar(byte)) : "=" + hexadecimal(byte)
                // A soft line break adds `=`, so 75 characters are left for the line.
                if encoded[encoded.count - 1].utf8.count + part.utf8.count > 75 {
                    encoded[encoded.count - 1] += "="
                    encoded.append("")
                    let isDot = byte == UInt8(ascii: ".")
                    encoded[encoded.count - 1] = isDot ? "=2E" : part
                } else {
                    encoded[encoded.count - 1] += part
                }
            }
            return encoded
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
