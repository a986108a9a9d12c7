import ArgumentParser
import Charts
import Feed
import Foundation
import QuakeStore

/// A town that `--near` knows by name: one of those on the live page's map.
struct Town {
    let name: String
    let country: String
    let latitude: Double
    let longitude: Double

    /// Finds a town by its name, in upper or lower case and with or without accents. Where there are several of a name, the
    /// country has to follow: `Vancouver, Canada`.
    ///
    /// - Throws: `ValidationError` if there is none, or several.
    static func named(_ text: String) throws -> Town {
        let parts = text.split(separator: ",", maxSplits: 1).map { folded(String($0)) }
        let found = all.filter { town in
            folded(town.name) == parts.first && (parts.count < 2 || folded(town.country) == parts[1])
        }
        if found.count == 1 { return found[0] }
        if !found.isEmpty {
            let names = found.map { "'\($0.name), \($0.country)'" }.joined(separator: " or ")
            throw ValidationError("there is more than one: give \(names), or a latitude and a longitude")
        }
        let hint = closestSpelling(of: text, among: all.map(\.name)).map { "; did you mean \($0)?" }
        throw ValidationError(
            "it takes a latitude and a longitude in degrees, such as 35.8,-117.6, or one of some 1,200 large towns, and \(text) is none of them\(hint ?? "")"
        )
    }

    private static func folded(_ text: String) -> String {
        text.trimmingCharacters(in: .whitespaces)
            .folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }

    private static let all: [Town] = String(decoding: Land.places, as: UTF8.self)
        .split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "\t").map(String.init)
            guard parts.count == 5, let latitude = Double(parts[1]), let longitude = Double(parts[2]) else {
                return nil
            }
            return Town(name: parts[3], country: parts[4], latitude: latitude, longitude: longitude)
        }
}
