/// The colours and line styles. Pictures can be read in black and white, too: colours of depth differ in lightness as well as in
/// hue, from light (shallow) to dark (deep), and every symbol has an outline.
enum Palette {
    /// Colours from matplotlib's perceptually uniform colour map `plasma`, for the shallowest depths first, and white for an
    /// unknown depth. In a beachball, whose other half is white, an unknown depth is grey.
    static let depths = ["#fcdc4c", "#f9983e", "#e0605f", "#b02991", "#6a00a8", "#1a0a6b", "#fff"]

    static let style: String = {
        var rules = """
            .t{fill:#222}.s{fill:#555}.h{fill:#111;font-weight:bold}
            .axis{fill:none;stroke:#333;stroke-width:1}.grid{fill:none;stroke:#ccd2d8;stroke-width:.6}
            .sea{fill:#f4f7fa;stroke:none}.land{fill:#dfdfd9;stroke:#dfdfd9;stroke-width:.3}
            .coast{fill:none;stroke:#8d8d88;stroke-width:.5;stroke-linejoin:round}
            .line{fill:none;stroke:#222;stroke-width:1.6;stroke-linejoin:round}
            .fit{fill:none;stroke:#b02991;stroke-width:1.8}.mark{fill:none;stroke:#333;stroke-width:1;stroke-dasharray:5 4}
            .poor{fill:none;stroke:#888;stroke-width:1.6;stroke-dasharray:2 3}
            .gap{fill:#8a94a0;fill-opacity:.28;stroke:none}.bar{stroke:#222;stroke-width:.5;fill-opacity:.9}
            .full{fill:#222;stroke:#222;stroke-width:.8}.hollow{fill:#fff;stroke:#222;stroke-width:1}
            .dot{fill:none;stroke-linecap:round}.ball{fill:#fff;stroke:#222;stroke-width:.6;stroke-linejoin:round}

            """
        for (index, fill) in depths.enumerated() {
            rules +=
                ".d\(index){fill:\(fill);stroke:#222;stroke-width:.6;fill-opacity:.88}.p\(index){stroke:\(fill)}"
                + ".f\(index){fill:\(index < depths.count - 1 ? fill : "#888")}"
        }
        return rules
    }()
}
