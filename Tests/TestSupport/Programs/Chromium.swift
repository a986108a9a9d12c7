/// A real browser, which the tests drive (https://www.chromium.org).
public enum Chromium {
    /// The path of axe-core, which finds accessibility problems in a page; nil when axe-core or the browser cannot be installed.
    public static let axe: String? = fetched("browser")
}
