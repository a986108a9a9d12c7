extension Parameters {
    /// The parameters that Quakes comes with.
    public static let shipped: Parameters = {
        do {
            return try Parameters(onlyText: shippedText)
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    /// The shipped parameters file, as a template for others.
    public static let shippedText = """
        version 1

        # The largest differences between the two solutions of a pair, after the correction of the time for depth (see
        # below). The highest cost is the square of six standard deviations. In a simulation of the month of Ridgecrest,
        # 3 % of the solutions were three times worse than the others. A limit of five standard deviations missed some
        # correct pairs. A limit of six found half of these, and no more wrong pairs.
        seconds       20
        km            120
        magnitudes    1.2
        cost          36
        impossible    2
        doubtful      1.5

        # A deeper solution has a later origin time, by a second for each 5 to 8 km (RéNaSS against USGS: 61 km and
        # 7.2 s, 36 km and 5.3 s; INGV against USGS: 46 km and 8.5 s).
        depth-speed   8
        depth-seconds 20
        fixed-depths  0 5 10 33 35

        # Final bulletins are preferred to global agencies, and these to regional agencies. We chose this order; no
        # source ranks the agencies.
        rank isc us usgs gfz emsc geonet ingv sed noa resif nrcan usp ipgp knmi lmu

        # EMSC's names for the authors of the solutions that it copies, and the networks of these authors.
        author NEIC us
        author USGS us
        author SCSN ci
        author NCSN nc
        author NCEDC nc
        author AEIC ak
        author HVO hv
        author PRSN pr
        author GFZ gfz
        author ETHZ sed
        author ATH noa
        author WEL geonet
        author LDG ldg
        author RENASS resif

        # The scatter of an agency's solutions from a magnitude on: seconds, km (the root mean square of the distance),
        # magnitudes, and the number of pairs in the fit. The values for any agency (*) are from 1,700 pairs of
        # solutions in the ISC's events since 1990. In the four classes of magnitude, half of the pairs are within 30,
        # 18, 12 and 10 km, 2.3, 1.9, 1.8 and 2.2 s, and 0.2 magnitudes. One agency's share is such a value divided by
        # 1.177 (km) or 0.954 (seconds, magnitudes). The shares are multiplied by 1.5, because the ISC's bulletins are
        # final, and first solutions are farther apart (15 to 35 km between agencies at magnitude 5.5).
        scatter *      -    3.6  38    0.32  0
        scatter *      4    3    23    0.32  0
        scatter *      5    2.8  15    0.32  0
        scatter *      6    3.5  13    0.32  0
        """
}
