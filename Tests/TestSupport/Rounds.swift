import Foundation

/// How often a test draws a world, a program or an order: a few times by default, and each time it is run with THOROUGH=1, such as
/// before a release.
package func rounds(_ few: Int, of all: Int) -> ClosedRange<Int> {
    1...(ProcessInfo.processInfo.environment["THOROUGH"] == "1" ? all : few)
}
