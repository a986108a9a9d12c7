// swift-tools-version: 6.2
import PackageDescription

// Quakes runs on Linux. The targets define the architecture: code that imports a target against the arrows does not compile.
// docs/code.md draws the arrows. Feed and PostgreSQL never depend on each other, and QuakeView does not depend on QuakeServer.

let package = Package(
    name: "quakes",
    products: [
        .executable(name: "quakes", targets: ["quakes"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2", traits: []),
    ],
    targets: [
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .systemLibrary(
            name: "CLibXML2",
            pkgConfig: "libxml-2.0",
            providers: [.apt(["libxml2-dev"])]
        ),
        // Signs webhooks, reads what libpq leaves in a TLS session, and encrypts the connections of the tests' servers.
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"])]
        ),
        // The functions that Swift's module of the C library leaves out.
        .systemLibrary(name: "CGlibc"),
        .systemLibrary(
            name: "CPostgreSQL",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"])]
        ),
        .systemLibrary(
            name: "CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]
        ),
        .target(name: "QueueExecutor"),
        .target(name: "Curl", dependencies: ["CCurl"]),
        .target(
            name: "PostgreSQL",
            dependencies: [
                "COpenSSL", "CPostgreSQL", "QueueExecutor", .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "LocalPostgres",
            dependencies: [.product(name: "Subprocess", package: "swift-subprocess")]
        ),
        .target(name: "Feed", dependencies: ["CCurl", "CLibXML2", "CZlib", "Curl", "QueueExecutor"]),
        .target(name: "SampleFeed", dependencies: ["Feed"]),
        // Decides which earthquakes are reported to which receivers, and words the messages. It has no side effects.
        .target(name: "Alerts", dependencies: ["Feed", "Yams"]),
        // Hands messages over to commands, webhooks, ntfy and mail servers.
        .target(
            name: "Delivery",
            dependencies: [
                "Alerts", "CCurl", "COpenSSL", "Curl", "Feed", "QueueExecutor",
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        .target(name: "QuakeML", dependencies: ["Feed"]),
        // The files that are embedded in the executable: migrations, coastlines, the live page.
        .target(name: "CEmbedded", cSettings: [.unsafeFlags(["-Wno-c23-extensions"])]),
        .target(name: "EmbeddedFiles", dependencies: ["CEmbedded"]),
        .target(
            name: "Charts", dependencies: ["EmbeddedFiles", "Feed"],
            exclude: ["Map/land.txt", "Map/islands.txt", "Map/places.txt"]),
        // Finds the rows that belong to the same earthquake. It does not use a database.
        .target(name: "Association", dependencies: ["Feed"]),
        .target(
            name: "QuakeStore",
            dependencies: [
                "Alerts", "Association", "CGlibc", "EmbeddedFiles", "Feed", "PostgreSQL",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "QuakeView",
            dependencies: [
                "Feed", "QuakeStore",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]
        ),
        .target(
            name: "QuakeServer",
            dependencies: [
                "CZlib", "Curl", "EmbeddedFiles", "Feed", "PostgreSQL", "QuakeML", "QuakeStore",
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            exclude: ["Page/package.json", "Page/Files", "Page/Tiles"]
        ),
        .executableTarget(
            name: "quakes",
            dependencies: [
                "Alerts",
                "Association",
                "CGlibc",
                "Charts",
                "Delivery",
                "LocalPostgres",
                "QuakeML",
                "QuakeServer",
                "QuakeStore",
                "QuakeView",
                "SampleFeed",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            // Otherwise, the statically linked runtime would export all its symbols, and each start of the program would search
            // them.
            linkerSettings: [
                .unsafeFlags(["-Xlinker", "--no-export-dynamic"], .when(configuration: .release))
            ]
        ),
        .executableTarget(
            name: "ScanBenchmark", dependencies: ["Feed", "PostgreSQL", "QuakeStore"],
            path: "Benchmarks/Speed/Scan"
        ),
        .executableTarget(
            name: "AssociationBenchmark", dependencies: ["Association", "Feed", "SampleFeed"],
            path: "Benchmarks/Speed/Association"
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "COpenSSL", "Feed", "LocalPostgres", "PostgreSQL", "QuakeStore", "SampleFeed",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            path: "Tests/TestSupport"
        ),
        .testTarget(
            name: "PostgreSQLTests",
            dependencies: [
                "LocalPostgres", "PostgreSQL", "SampleFeed", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(name: "LocalPostgresTests", dependencies: ["LocalPostgres", "TestSupport"]),
        .testTarget(name: "FeedTests", dependencies: ["CZlib", "Feed", "SampleFeed", "TestSupport"]),
        .testTarget(name: "ChartsTests", dependencies: ["Charts", "Feed", "SampleFeed", "TestSupport"]),
        .testTarget(
            name: "AssociationTests", dependencies: ["Association", "Feed", "SampleFeed", "TestSupport"]),
        .testTarget(name: "QuakeMLTests", dependencies: ["Feed", "QuakeML", "TestSupport"]),
        .testTarget(
            name: "AlertsTests", dependencies: ["Alerts", "Feed", "SampleFeed", "TestSupport"],
            exclude: ["Cases"]),
        .testTarget(
            name: "DeliveryTests", dependencies: ["Alerts", "Curl", "Delivery", "Feed", "TestSupport"]),
        .testTarget(
            name: "QuakeStoreTests",
            dependencies: [
                "Alerts", "Association", "QuakeML", "QuakeStore", "SampleFeed", "TestSupport",
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        .testTarget(
            name: "QuakeViewTests",
            dependencies: [
                "Feed", "PostgreSQL", "QuakeStore", "QuakeView", "SampleFeed", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .testTarget(
            name: "QuakeServerTests",
            dependencies: [
                "CZlib", "Feed", "PostgreSQL", "QuakeML", "QuakeServer", "QuakeStore", "SampleFeed",
                "TestSupport",
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        .testTarget(
            name: "quakesTests",
            dependencies: [
                "quakes", "SampleFeed", "TestSupport",
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// An async function runs on the executor of its caller, unless it is marked @concurrent. So no thread switch is needed to run a
// statement and use its rows.
for target in package.targets where target.type != .system && target.name != "CEmbedded" {
    target.swiftSettings = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}

// Targets with long computations are optimised in debug builds, too, because the tests read millions of records.
let computing: Set = [
    "Alerts", "Association", "Charts", "Curl", "Feed", "PostgreSQL", "QuakeML", "SampleFeed",
]
for target in package.targets where computing.contains(target.name) {
    target.swiftSettings?.append(.unsafeFlags(["-O"], .when(configuration: .debug)))
}
