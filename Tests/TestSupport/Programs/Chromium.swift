/// A real browser, which the tests drive (https://www.chromium.org).
public enum Chromium {
    /// The file of axe-core, which finds in a page what bars people with disabilities; nil when that or the browser cannot
    /// be installed.
    public static let axe: String? = fetched("browser")
}
