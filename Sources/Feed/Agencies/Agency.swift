/// An agency that publishes earthquakes: how documents name it, and where it shows its events.
public struct Agency: Sendable, Equatable {
    /// The `net` of the agency's events, in lower case. The events' codes begin with this name: `gfz:gfz2026texh`.
    public let name: String
    public let title: String
    /// The licence of its data; nil if the agency publishes none. Users then have to ask the agency.
    public var licence: String?
    /// A URL or a DOI of the terms of use, or of the citation that the agency asks for.
    public var terms: String?
    /// The URL of its event service. An event whose `url` has the same host comes from this service.
    public let service: String
    /// The URL of an event's page without the id at its end. The page has the same host as the service.
    public var page: String?
    /// How its events' public ids begin after `smi:` or `quakeml:`, in lower case.
    public var authorities: [String] = []
    /// The prefixes of its ids from SeisComP. Such an id is a prefix, a year and letters: `gfz2026texh`.
    public var prefixes: [String] = []
    /// The agency's network in ComCat, if ComCat uses that network's ids unchanged. It is empty for `usgs`, to which all networks
    /// of ComCat belong.
    public var network: String?

    /// Whether the agency sets the coordinates and the magnitude of a withdrawn event to zero.
    public var withdrawsByZeros = false
    /// The abilities that its event service lacks; nil if `quakes import` does not accept the service by name.
    var serviceLacks: Set<EventService.Ability>?
    /// The format to request if the service does not offer GeoJSON in the USGS's form.
    var format = "text"
    /// The shortest time from one sweep of the service to the next.
    var pace: Duration = .seconds(300)
    /// How many days of origin times each sweep requests; nil for the default.
    var days: Int?
    /// The usual spelling of its name; nil if the name is written in capitals.
    var spelling: String?

    /// The name as people write it, such as `GFZ`.
    public var label: String { spelling ?? name.uppercased() }

    var address: String { page ?? "\(service)query?eventid=" }

    /// The values of `net` that the agency's events have. Usually this is only the agency's name. For a contributor to ComCat, it
    /// is the agency's network instead. For `usgs`, it is the name and all networks of ComCat. In SQL, `report.agency` finds the
    /// agency of a network.
    public var networks: [String] {
        switch network {
        case nil: [name]
        case "": [name] + Agency.networksOfComCat.sorted()
        case let network?: [network]
        }
    }

    /// The name of the agency whose events have `network` as their `net`: `usgs` for the networks of ComCat, otherwise `network`
    /// itself in lower case. In SQL, this is `report.agency`.
    public static func name(ofNetwork network: String) -> String {
        let name = String(decoding: network.utf8.map(\.asciiLowercased), as: UTF8.self)
        return networksOfComCat.contains(name) ? usgs.name : name
    }

    /// Whether an event belongs to the agency, according to the event's `net` or the host of its `url`. An event may belong to
    /// two agencies: networks that contribute to ComCat publish their events both there and through their own services.
    public func hasEvent(of net: String, at host: String?) -> Bool {
        host == self.host || net == name
            || (network == "" ? Self.networksOfComCat.contains(net) : net == network)
    }

    public var host: String { FeedIdentity.host(of: service) ?? "" }

    /// The text to show with its data, such as `GFZ Helmholtz Centre for Geosciences, GEOFON (CC BY 4.0, doi:10.14470/TR560404)`.
    public var attribution: String {
        let rest = [licence, terms].compactMap(\.self).joined(separator: ", ")
        return rest.isEmpty ? title : "\(title) (\(rest))"
    }
}

extension Agency {
    public static func atHost(_ host: String?) -> Agency? {
        host.flatMap { host in known.first { $0.host == host } }
    }

    public static func named(_ name: String) -> Agency? {
        known.first { $0.name == name }
    }

    /// The agency that gave a public id, according to the id's authority. The default authority of SeisComP does not count,
    /// because nearly every installation writes it.
    static func owning(_ identifier: EventIdentifier) -> Agency? {
        guard !identifier.authority.isEmpty, identifier.owner != "org.gfz-potsdam.de" else { return nil }
        let authority = identifier.authority.lowercased()
        return known.first { agency in
            agency.authorities.contains { name in
                authority.hasPrefix(name) && [nil, "/", "."].contains(authority.dropFirst(name.count).first)
            }
        }
    }

    /// Whether a name belongs to an agency or to a network of ComCat. If so, ids from other sources must not begin with it.
    static func isTaken(_ name: String) -> Bool { networksOfComCat.contains(name) || named(name) != nil }

    static let byPrefix = Dictionary(
        uniqueKeysWithValues: known.flatMap { agency in agency.prefixes.map { ($0, agency) } })

    public static let usgs = Agency(
        name: "usgs", title: "U.S. Geological Survey and its networks", licence: "public domain",
        terms: "https://www.usgs.gov/policies-and-notices",
        service: "https://earthquake.usgs.gov/fdsnws/event/1/",
        page: "https://earthquake.usgs.gov/earthquakes/eventpage/",
        authorities: ["earthquake.usgs.gov", "comcat.cr.usgs.gov"],
        // ComCat uses the ids of Alaska, Oklahoma and Texas unchanged: `ak2025wtbkbf`.
        prefixes: ["us", "ak", "ok", "tx"], network: "", serviceLacks: [])

    private static let lackingInSeisComP: Set<EventService.Ability> = [
        .geojson, .updates, .deletions, .counts,
    ]

    public static let known: [Agency] = [
        usgs,
        Agency(
            name: "emsc", title: "European-Mediterranean Seismological Centre", licence: "© EMSC",
            terms: "https://www.emsc-csem.org/policy.php",
            service: "https://www.seismicportal.eu/fdsnws/event/1/",
            page: "https://www.seismicportal.eu/eventdetails.html?unid=",
            authorities: ["eu.emsc", "www.seismicportal.eu", "www.emsc-csem.org"],
            serviceLacks: [.geojson, .deletions, .counts], format: "json"),
        Agency(
            name: "gfz", title: "GFZ Helmholtz Centre for Geosciences, GEOFON", licence: "CC BY 4.0",
            terms: "doi:10.14470/TR560404", service: "https://geofon.gfz.de/fdsnws/event/1/",
            page: "https://geofon.gfz.de/eqinfo/event.php?id=",
            authorities: ["geofon.gfz.de", "geofon.gfz-potsdam.de"], prefixes: ["gfz"],
            serviceLacks: lackingInSeisComP),
        Agency(
            name: "ingv", title: "Istituto Nazionale di Geofisica e Vulcanologia, ISIDe",
            licence: "CC BY 4.0", terms: "doi:10.13127/ISIDE",
            service: "https://webservices.ingv.it/fdsnws/event/1/",
            authorities: ["webservices.ingv.it"], serviceLacks: lackingInSeisComP,
            // The service bans clients that ask too often.
            pace: .seconds(900)),
        Agency(
            name: "geonet", title: "GeoNet, Earth Sciences New Zealand", licence: "CC BY 4.0",
            service: "https://service.geonet.org.nz/fdsnws/event/1/",
            authorities: ["nz.org.geonet", "service.geonet.org.nz", "geonet.org.nz"],
            serviceLacks: lackingInSeisComP.union([.limits]), spelling: "GeoNet"),
        Agency(
            name: "sed", title: "Swiss Seismological Service, ETH Zürich", licence: "© SED",
            terms: "http://www.seismo.ethz.ch/en/service/Disclaimer/",
            service: "https://eida.ethz.ch/fdsnws/event/1/",
            authorities: ["ch.ethz.sed"], serviceLacks: lackingInSeisComP),
        Agency(
            name: "resif", title: "Réseau sismologique et géodésique français, BCSF-Rénass",
            terms: "http://ws.resif.fr/terms_of_services/",
            service: "https://api.franceseisme.fr/fdsnws/event/1/",
            authorities: ["fr.franceseisme", "eu.resif"],
            prefixes: ["fr"], serviceLacks: lackingInSeisComP),
        Agency(
            name: "knmi", title: "Royal Netherlands Meteorological Institute",
            service: "https://rdsa.knmi.nl/fdsnws/event/1/",
            authorities: ["nl.knmi"], prefixes: ["knmi"], serviceLacks: lackingInSeisComP),
        Agency(
            name: "noa", title: "National Observatory of Athens, Institute of Geodynamics",
            licence: "CC BY 4.0", service: "https://eida.gein.noa.gr/fdsnws/event/1/",
            authorities: ["gr.noa"], prefixes: ["noa"], serviceLacks: lackingInSeisComP),
        Agency(
            name: "scedc", title: "Southern California Earthquake Data Center", terms: "doi:10.7909/C3WD3xH1",
            service: "https://service.scedc.caltech.edu/fdsnws/event/1/",
            authorities: ["service.scedc.caltech.edu"], network: "ci",
            serviceLacks: lackingInSeisComP),
        Agency(
            name: "ncedc", title: "Northern California Earthquake Data Center", terms: "doi:10.7932/NCEDC",
            service: "https://service.ncedc.org/fdsnws/event/1/",
            authorities: ["service.ncedc.org", "nc.anss.org"], network: "nc", withdrawsByZeros: true,
            serviceLacks: lackingInSeisComP),
        Agency(
            name: "isc", title: "International Seismological Centre, On-line Bulletin",
            terms: "doi:10.31905/D808B830", service: "https://www.isc.ac.uk/fdsnws/event/1/",
            authorities: ["isc", "www.isc.ac.uk"],
            // The ISC keeps adding to its bulletin for months after an earthquake.
            serviceLacks: lackingInSeisComP, pace: .seconds(86_400), days: 240),
        Agency(
            name: "nrcan", title: "Natural Resources Canada, Earthquakes Canada",
            service: "https://earthquakescanada.nrcan.gc.ca/fdsnws/event/1/", authorities: ["ca.seismo"],
            spelling: "NRCan"),
        Agency(
            name: "lmu",
            title: "Ludwig-Maximilians-Universität München, Department of Earth and Environmental Sciences",
            service: "https://erde.geophysik.uni-muenchen.de/fdsnws/event/1/",
            authorities: ["de.erdbeben-in-bayern"]),
        Agency(
            name: "ipgp", title: "Institut de physique du globe de Paris",
            service: "https://ws.ipgp.fr/fdsnws/event/1/",
            authorities: ["fr.ipgp"], prefixes: ["revosima", "ovpf", "ovsg", "ovsm"]),
        Agency(
            name: "usp", title: "Centro de Sismologia, Universidade de São Paulo",
            service: "https://sismo.iag.usp.br/fdsnws/event/1/",
            prefixes: ["usp"]),
    ]

    /// The networks that contribute to ComCat, as ComCat's event service lists them
    /// (https://earthquake.usgs.gov/fdsnws/event/1/catalogs). The ids of their events begin with these names.
    static let networksOfComCat: Set<String> = [
        "ak", "at", "atlas", "av", "cdmg", "cgs", "choy", "ci", "duputel", "ew", "gcmt", "hv", "iscgem",
        "iscgemsup", "ismp", "ismpkansas", "ld", "mb", "nc", "nm", "nn", "official", "ok", "ott", "pde", "pr",
        "pt", "se", "tx", "us", "usauto", "ushis", "uu", "uw",
    ]
}
