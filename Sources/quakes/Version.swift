/// The version that `quakes --version` prints. Tests check that the images and the package have the same version.
let version = "0.1.0"
