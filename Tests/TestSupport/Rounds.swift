import Foundation

/// How often a test draws a random world, program or order: a few times by default, and the full number with THOROUGH=1, such as
/// before a release.
package func rounds(_ few: Int, of all: Int) -> ClosedRange<Int> {
    1...(ProcessInfo.processInfo.environment["THOROUGH"] == "1" ? all : few)
}
