import ArgumentParser
import Charts
import Feed
import Foundation
import QuakeStore

/// A town that `--near` accepts by its name. The live page's map shows the same towns.
struct Town {
    let name: String
    let country: String
    /// The lowest zoom level at which a map shows the town: 2 for the largest towns.
    let zoom: Double
    let latitude: Double
    let longitude: Double

    /// Finds a town by its name, in upper or lower case and with or without accents. If several towns have the name, the largest
    /// one is found if it is far larger than the others: `Los Angeles` means the city in the United States. Otherwise, the
    /// country has to follow the name: `Valencia, Spain`.
    ///
    /// - Throws: `ValidationError` if no town has the name, or if several have it.
    static func named(_ text: String) throws -> Town {
        let parts = text.split(separator: ",", maxSplits: 1).map { folded(String($0)) }
        let found = all.filter { town in
            folded(town.name) == parts.first && (parts.count < 2 || folded(town.country) == parts[1])
        }
        let bySize = found.sorted { $0.zoom < $1.zoom }
        if let first = bySize.first, bySize.count == 1 || first.zoom + 2 <= bySize[1].zoom { return first }
        if !found.isEmpty {
            let names = found.map { "'\($0.name), \($0.country)'" }.joined(separator: " or ")
            throw ValidationError(
                "several towns have this name: give \(names), or a latitude and a longitude")
        }
        let hint = closestSpelling(of: text, among: all.map(\.name)).map { "; did you mean \($0)?" }
        throw ValidationError(
            "it takes a latitude and a longitude in degrees, such as 35.8,-117.6, or one of some 1,200 large towns, and \(text) is none of them\(hint ?? "")"
        )
    }

    /// The name, with the country if several towns have this name.
    var fullName: String {
        Self.all.count { $0.name == name } > 1 ? "\(name), \(country)" : name
    }

    private static func folded(_ text: String) -> String {
        text.trimmingCharacters(in: .whitespaces)
            .folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }

    private static let all: [Town] = String(decoding: Land.places, as: UTF8.self)
        .split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "\t").map(String.init)
            guard parts.count == 5, let zoom = Double(parts[0]), let latitude = Double(parts[1]),
                let longitude = Double(parts[2])
            else { return nil }
            return Town(
                name: parts[3], country: parts[4], zoom: zoom, latitude: latitude, longitude: longitude)
        }
}
