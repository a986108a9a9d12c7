/// The version that `quakes --version` prints. Tests compare the images and the package with it.
let version = "0.1.0"
