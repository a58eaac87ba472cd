// swift-tools-version: 6.2
// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackageDescription

// Every target has the same settings: memory-unsafe calls are marked, warnings are errors, imports have an access
// level. SwiftPM ignores `treatAllWarnings` in packages that are dependencies.
let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let instrumentation: Target.Dependency = .product(name: "Instrumentation", package: "swift-distributed-tracing")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")

let package = Package(
    name: "remote-systems",
    products: [
        .library(name: "RemoteSystems", targets: ["RemoteSystems"]),
        .library(name: "RemoteSystemsDesktop", targets: ["RemoteSystemsDesktop"]),
        .library(name: "RemoteSystemsTesting", targets: ["RemoteSystemsTesting"]),
        .library(name: "RemoteSystemsTracing", targets: ["RemoteSystemsTracing"]),
        .library(name: "UserActivities", targets: ["UserActivities"]),
        .library(name: "UserNotifications", targets: ["UserNotifications"]),
        .library(name: "UserNotificationsUI", targets: ["UserNotificationsUI"]),
        .library(name: "ValueSets", targets: ["ValueSets"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-crypto", "4.5.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The typed dictionary and its CBOR coding. Independent of networks, files and identities.
        .target(name: "ValueSets", dependencies: [nioCore], swiftSettings: settings),
        // Accounts, system certificates, enrolment, trust. Independent of sockets and frames.
        .target(
            name: "RemoteSystemsIdentity",
            dependencies: ["ValueSets", crypto, cryptoExtras, x509, asn1],
            swiftSettings: settings
        ),
        // Frames, TLS 1.3 channels, connection state machines. Independent of app services and discovery.
        .target(
            name: "RemoteSystemsTransport",
            dependencies: [
                "ValueSets", "RemoteSystemsIdentity", nioCore, nioPosix, nioSSL, nioTLS, crypto, logging,
            ],
            swiftSettings: settings
        ),
        // Avahi's C API, client and core. RemoteSystemsDiscovery has one owner class for each kind of its objects.
        .systemLibrary(
            name: "CRemoteSystemsAvahi",
            providers: [.apt(["libavahi-client-dev", "libavahi-core-dev"])]
        ),
        // Hints about where systems are, from Avahi or a static list. Independent of trust and transport.
        .target(
            name: "RemoteSystemsDiscovery",
            dependencies: ["CRemoteSystemsAvahi", logging],
            swiftSettings: settings
        ),
        // The public API: watcher, systems, app services, hosting.
        .target(
            name: "RemoteSystems",
            dependencies: [
                "ValueSets", "RemoteSystemsIdentity", "RemoteSystemsTransport", "RemoteSystemsDiscovery",
                nioCore, nioPosix, crypto, logging, metrics, instrumentation, lifecycle,
            ],
            swiftSettings: settings
        ),
        // Hand-off: activities that are offered to other systems and continued there.
        .target(
            name: "UserActivities",
            dependencies: [
                "RemoteSystems", "RemoteSystemsIdentity", "RemoteSystemsTransport", "ValueSets", logging, lifecycle,
            ],
            swiftSettings: settings
        ),
        // The custom views of notifications, as values, and what the program that shows them reads and writes.
        .target(name: "UserNotificationsUI", dependencies: ["ValueSets"], swiftSettings: settings),
        // Notifications: their content, when and where they are shown, and what the user responds.
        .target(
            name: "UserNotifications",
            dependencies: [
                "RemoteSystems", "RemoteSystemsIdentity", "RemoteSystemsTransport", "UserNotificationsUI", "ValueSets",
                crypto, logging, lifecycle,
            ],
            swiftSettings: settings
        ),
        // Spans for requests. Separate from RemoteSystems, which needs only the Instrumentation product to propagate
        // traces.
        .target(
            name: "RemoteSystemsTracing",
            dependencies: ["RemoteSystems", "ValueSets", tracing],
            swiftSettings: settings
        ),
        // GLib's application look-up and its D-Bus client.
        .systemLibrary(
            name: "CRemoteSystemsGIO",
            // Provides the path of GLib's headers. GIO's own .pc file contains -pthread, for which SwiftPM prints a
            // warning at every build.
            pkgConfig: "gobject-2.0",
            providers: [.apt(["libglib2.0-dev"])]
        ),
        // The parts that belong to the machine and not to one application: installed applications, the desktop.
        // Independent of the wire protocol.
        .target(
            name: "RemoteSystemsDesktop",
            dependencies: [
                "RemoteSystems", "RemoteSystemsDiscovery", "UserActivities", "UserNotifications", "ValueSets",
                "CRemoteSystemsGIO", logging, lifecycle,
            ],
            swiftSettings: settings
        ),
        // Scripted discovery, a network in memory and a manual clock, for the tests of programs that use the SDK.
        .target(
            name: "RemoteSystemsTesting",
            dependencies: [
                "RemoteSystems", "RemoteSystemsDiscovery", "RemoteSystemsIdentity", "RemoteSystemsTransport",
                "UserActivities", "UserNotifications", "ValueSets",
                nioCore, nioPosix, nioSSL, crypto, logging,
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

/// Whether SwiftPM fetched this package as a dependency. The other package then needs neither the command, nor its
/// dependencies, nor the tests, but SwiftPM resolves every dependency in a manifest
/// (Docs/decisions/0015-what-users-resolve.md). SwiftPM reads the manifest of a fetched package in a directory
/// "checkouts", and before that without the rest of the package.
let isFetched =
    Context.packageDirectory.contains("/checkouts/")
    || !FileManager.default.fileExists(atPath: Context.packageDirectory + "/Tests")

if !isFetched {
    package.products += [
        .executable(name: "remotesystems", targets: ["remotesystems"]),
        .executable(name: "remotesystems-card", targets: ["remotesystems-card"]),
        // For the package of the fuzz targets.
        .library(name: "WebAssociations", targets: ["WebAssociations"]),
    ]
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ]
    package.targets += [
        // Which applications a site approves for its pages: reading, verifying and remembering. Independent of HTTP.
        .target(
            name: "WebAssociations",
            dependencies: ["RemoteSystems", "RemoteSystemsDesktop", "UserActivities", crypto, x509, asn1, logging],
            swiftSettings: settings
        ),
        // Fetches the association files of sites. Only the command uses it, so that users of the libraries do not
        // resolve an HTTP client.
        .target(
            name: "WebAssociationsHTTP",
            dependencies: [
                "WebAssociations", "RemoteSystemsDiscovery", nioCore, nioHTTP1, nioSSL,
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            swiftSettings: settings
        ),
        // Keeps notifications in a database. Only the command uses it, so that users of the libraries do not resolve
        // SQLite.
        .target(
            name: "UserNotificationsStore",
            dependencies: ["UserNotifications", logging, .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings
        ),
        // The command: argument parsing, printing and wiring. Everything else is in the libraries.
        .executableTarget(
            name: "remotesystems",
            dependencies: [
                "RemoteSystems", "RemoteSystemsDesktop", "UserActivities", "UserNotifications",
                "RemoteSystemsTransport", "UserNotificationsStore", "WebAssociations", "WebAssociationsHTTP",
                logging, lifecycle, unixSignals,
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/remotesystems-cli",
            swiftSettings: settings
        ),
        // GTK 4, loaded at run time.
        .target(name: "CRemoteSystemsGTK"),
        // Shows the custom view of a notification, in a process of its own.
        .executableTarget(
            name: "remotesystems-card",
            dependencies: ["UserNotificationsUI", "ValueSets", "CRemoteSystemsGTK"],
            swiftSettings: settings
        ),
        // Measures a publisher of state. It is not in the benchmarks' package, because that uses public API only.
        .executableTarget(
            name: "published-state-load",
            dependencies: [
                "RemoteSystemsTransport", "RemoteSystemsIdentity", "ValueSets", nioCore, nioPosix, crypto, logging,
            ],
            path: "Benchmarks/PublishedStateLoad",
            swiftSettings: settings
        ),
        // An application that hands over. Scripts/bench-notifications compares it with programs that use D-Bus.
        .executableTarget(
            name: "hand-off-program",
            dependencies: ["RemoteSystems", "UserActivities"],
            path: "Benchmarks/HandOffProgram",
            swiftSettings: settings
        ),
        // Tests of single layers. The only network that they use is loopback.
        .testTarget(
            name: "UserActivitiesTests",
            dependencies: [
                "RemoteSystems", "RemoteSystemsIdentity", "RemoteSystemsTesting", "UserActivities", "ValueSets",
                "IntegrationSupport", logging, .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "UserNotificationsUITests",
            dependencies: ["UserNotificationsUI", "ValueSets"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "UserNotificationsTests",
            dependencies: [
                "RemoteSystems", "RemoteSystemsTesting", "UserNotifications", "UserNotificationsStore",
                "UserNotificationsUI", "ValueSets",
                "IntegrationSupport", logging, .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "ValueSetsTests", dependencies: ["ValueSets", nioCore], swiftSettings: settings),
        .testTarget(
            name: "RemoteSystemsIdentityTests",
            dependencies: [
                "RemoteSystemsIdentity", "ValueSets", "IntegrationSupport", crypto, cryptoExtras, x509, asn1,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RemoteSystemsTransportTests",
            dependencies: [
                "RemoteSystemsTransport", "RemoteSystemsIdentity", "ValueSets",
                nioCore, nioEmbedded, nioPosix, nioSSL, crypto, x509, asn1, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RemoteSystemsDiscoveryTests",
            dependencies: ["RemoteSystemsDiscovery", logging],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RemoteSystemsTests",
            dependencies: [
                "RemoteSystems", "RemoteSystemsTesting", "RemoteSystemsTransport", "RemoteSystemsIdentity",
                "RemoteSystemsDiscovery",
                "UserActivities", "ValueSets", "IntegrationSupport",
                "RemoteSystemsTracing",
                nioCore, nioPosix, crypto, lifecycle, logging, metrics, instrumentation, tracing,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RemoteSystemsTestingTests",
            dependencies: [
                "RemoteSystemsTesting", "RemoteSystems", "RemoteSystemsTransport", "UserActivities",
                "UserNotifications",
                nioCore, logging,
            ],
            swiftSettings: settings
        ),
        // Association files, with servers on loopback.
        .testTarget(
            name: "WebAssociationsTests",
            dependencies: [
                "WebAssociations", "WebAssociationsHTTP", "RemoteSystems", "RemoteSystemsDesktop", "UserActivities",
                "IntegrationSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RemoteSystemsDesktopTests",
            dependencies: [
                "RemoteSystemsDesktop", "RemoteSystems", "UserActivities", "UserNotifications", "ValueSets",
                "CRemoteSystemsGIO", "IntegrationSupport", logging,
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        // Tests with real components on simulated hosts: network namespaces, each with its own bus and avahi-daemon.
        .target(
            name: "IntegrationSupport",
            path: "Tests/IntegrationSupport",
            exclude: ["Scripts"],
            swiftSettings: settings
        ),
        // An installed application, for tests of the host daemon.
        .executableTarget(
            name: "installed-application",
            dependencies: ["RemoteSystems", "RemoteSystemsDesktop", "UserNotifications", lifecycle],
            path: "Tests/InstalledApplication",
            swiftSettings: settings
        ),
        // An application that offers and continues activities, for tests on simulated machines.
        .executableTarget(
            name: "activity-probe",
            dependencies: ["RemoteSystems", "UserActivities", "ValueSets"],
            path: "Tests/ActivityProbe",
            swiftSettings: settings
        ),
        // The host daemon: its parts, and the command as a service manager runs it.
        .testTarget(
            name: "HostDaemonTests",
            dependencies: [
                "IntegrationSupport", "RemoteSystems", "RemoteSystemsDesktop", "RemoteSystemsIdentity",
                "RemoteSystemsTesting", "RemoteSystemsTransport", "UserNotifications", "remotesystems",
                "installed-application", nioCore, logging,
            ],
            exclude: ["Scripts"],
            swiftSettings: settings
        ),
        // The command, run as a user runs it.
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "IntegrationSupport", "remotesystems", "RemoteSystems", "RemoteSystemsDesktop", "RemoteSystemsIdentity",
                "UserActivities", "WebAssociations", "WebAssociationsHTTP", crypto,
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "discovery-probe",
            dependencies: ["RemoteSystemsDiscovery", logging],
            path: "Tests/DiscoveryProbe",
            swiftSettings: settings
        ),
        // A host that opens URIs, a program that opens them, one that a bus starts, and one that shows notifications.
        .executableTarget(
            name: "desktop-probe",
            dependencies: ["RemoteSystems", "RemoteSystemsDesktop", "UserNotifications", "CRemoteSystemsGIO"],
            path: "Tests/DesktopProbe",
            swiftSettings: settings
        ),
        .testTarget(
            name: "DesktopIntegrationTests",
            dependencies: [
                "IntegrationSupport", "RemoteSystems", "UserNotificationsUI", "ValueSets", "activity-probe",
                "desktop-probe", "remotesystems", "remotesystems-card",
            ],
            exclude: ["Scripts"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DiscoveryIntegrationTests",
            dependencies: ["IntegrationSupport", "discovery-probe"],
            exclude: ["Scripts"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "long-lived-probe",
            dependencies: ["RemoteSystems"],
            path: "Tests/LongLivedProbe",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "stopping-probe",
            dependencies: ["RemoteSystems"],
            path: "Tests/StoppingProbe",
            swiftSettings: settings
        ),
        .testTarget(
            name: "SystemIntegrationTests",
            dependencies: [
                "IntegrationSupport", "remotesystems", "long-lived-probe", "stopping-probe", "installed-application",
                "activity-probe",
            ],
            exclude: ["Scripts"],
            swiftSettings: settings
        ),
    ]
}
