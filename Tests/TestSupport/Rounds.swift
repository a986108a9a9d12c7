import Foundation

/// The rounds of a randomised test: `few` by default, and `all` with THOROUGH=1, for example before a release.
package func rounds(_ few: Int, of all: Int) -> ClosedRange<Int> {
    1...(ProcessInfo.processInfo.environment["THOROUGH"] == "1" ? all : few)
}
