/// The version that `quakes --version` prints and CHANGELOG.md describes.
let version = "0.1.0"
