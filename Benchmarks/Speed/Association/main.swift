import Association
import Foundation

// Measures the quality of the groups, and the time to compute them:
//
//     AssociationBenchmark quality|speed|crowd|dense [FOLDER]
//
// quality and dense need a folder with the real feeds 2019-07-19_2.5_month.geojson and 2025-10-30_2.5_month.geojson.

let arguments = CommandLine.arguments.dropFirst()
let feeds = arguments.dropFirst().first ?? "../shared/feeds"
switch arguments.first ?? "quality" {
case "quality": try Quality(feeds).report()
case "speed": Speed.report()
case "crowd": Speed.crowd()
case "dense": try Speed.dense(feeds)
case let other:
    print("unknown benchmark: \(other)")
    exit(64)
}
