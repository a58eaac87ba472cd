// swift-tools-version: 6.2
// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A separate package, so that dependencies of the samples never enter the dependency graphs of the SDK's users. Samples
// use only the public products.
let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let remoteSystems: Target.Dependency = .product(name: "RemoteSystems", package: "remote-systems")
let userActivities: Target.Dependency = .product(name: "UserActivities", package: "remote-systems")
let userNotifications: Target.Dependency = .product(name: "UserNotifications", package: "remote-systems")
let userNotificationsUI: Target.Dependency = .product(name: "UserNotificationsUI", package: "remote-systems")
let testing: Target.Dependency = .product(name: "RemoteSystemsTesting", package: "remote-systems")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let remoteSystemsTracing: Target.Dependency = .product(name: "RemoteSystemsTracing", package: "remote-systems")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let inMemoryTracing: Target.Dependency = .product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")

let package = Package(
    name: "remote-systems-samples",
    products: [
        .executable(name: "ping-service", targets: ["ping-service"]),
        .executable(name: "ping-client", targets: ["ping-client"]),
        .executable(name: "watch-and-print", targets: ["watch-and-print"]),
        .executable(name: "typed-service", targets: ["typed-service"]),
        .executable(name: "typed-client", targets: ["typed-client"]),
        .executable(name: "thermometer", targets: ["thermometer"]),
        .executable(name: "display", targets: ["display"]),
        .executable(name: "lifecycle-service", targets: ["lifecycle-service"]),
        .executable(name: "remote-player", targets: ["remote-player"]),
        .executable(name: "play-there", targets: ["play-there"]),
        .executable(name: "note-editor", targets: ["note-editor"]),
        .executable(name: "tab-hopper", targets: ["tab-hopper"]),
        .executable(name: "continue-playing", targets: ["continue-playing"]),
        .executable(name: "picture-story", targets: ["picture-story"]),
        .executable(name: "event-invite", targets: ["event-invite"]),
        .executable(name: "invite-card", targets: ["invite-card"]),
        .executable(name: "photo-extension", targets: ["photo-extension"]),
    ],
    dependencies: [
        // The name is explicit because the folder of a checkout can have any name.
        .package(name: "remote-systems", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        // Responds to pings until it is stopped.
        .executableTarget(
            name: "ping-service",
            dependencies: [remoteSystems, arguments, lifecycle, logging],
            path: "ping/Service",
            swiftSettings: settings
        ),
        // Finds the service, pings it, and prints the output of `ping`.
        .executableTarget(
            name: "ping-client",
            dependencies: [remoteSystems, arguments, logging],
            path: "ping/Client",
            swiftSettings: settings
        ),
        // Prints the reachable systems, and every change.
        .executableTarget(
            name: "watch-and-print",
            dependencies: [remoteSystems],
            path: "watch-and-print",
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        // The messages of the typed service and its client.
        .target(
            name: "Messages",
            path: "typed-service/Messages",
            swiftSettings: settings
        ),
        // Accepts orders.
        .executableTarget(
            name: "typed-service",
            dependencies: ["Messages", remoteSystems, lifecycle, logging],
            path: "typed-service/Server",
            swiftSettings: settings
        ),
        // Sends orders.
        .executableTarget(
            name: "typed-client",
            dependencies: ["Messages", remoteSystems],
            path: "typed-service/Client",
            swiftSettings: settings
        ),
        // The messages of the thermometer and the display.
        .target(
            name: "LiveMessages",
            path: "live-updates/Messages",
            swiftSettings: settings
        ),
        // Pushes its measurements to its callers.
        .executableTarget(
            name: "thermometer",
            dependencies: ["LiveMessages", remoteSystems, lifecycle],
            path: "live-updates/Service",
            swiftSettings: settings
        ),
        // Prints the measurements.
        .executableTarget(
            name: "display",
            dependencies: ["LiveMessages", remoteSystems],
            path: "live-updates/Client",
            swiftSettings: settings
        ),
        // A host among other services of a program, with metrics, logging, authorisation and tracing.
        .executableTarget(
            name: "lifecycle-service",
            dependencies: [
                remoteSystems, remoteSystemsTracing, lifecycle, logging, metrics, coreMetrics, tracing, inMemoryTracing,
            ],
            path: "lifecycle-service",
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        // Opens URIs from other systems.
        .executableTarget(
            name: "remote-player",
            dependencies: [remoteSystems, lifecycle, logging],
            path: "remote-launch/Player",
            swiftSettings: settings
        ),
        // Opens a URI on another system.
        .executableTarget(
            name: "play-there",
            dependencies: [remoteSystems, arguments],
            path: "remote-launch/Sender",
            swiftSettings: settings
        ),
        // The system that the samples of hand-off run on.
        .target(
            name: "SampleSystem",
            dependencies: [remoteSystems],
            path: "two-systems",
            exclude: ["create"],
            swiftSettings: settings
        ),
        // An editor whose note is continued on another system, and its test.
        .target(
            name: "NoteEditor",
            dependencies: [remoteSystems, userActivities],
            path: "note-editor/Editor",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "note-editor",
            dependencies: ["NoteEditor", "SampleSystem", userActivities, arguments],
            path: "note-editor/Program",
            swiftSettings: settings
        ),
        .testTarget(
            name: "NoteEditorTests",
            dependencies: ["NoteEditor", userActivities, testing],
            path: "note-editor/NoteEditorTests",
            swiftSettings: settings
        ),
        // A browser whose page is continued on another system, and its test.
        .target(name: "Browser", dependencies: [userActivities], path: "tab-hopper/Browser", swiftSettings: settings),
        .executableTarget(
            name: "tab-hopper",
            dependencies: ["Browser", "SampleSystem", userActivities, arguments],
            path: "tab-hopper/Program",
            swiftSettings: settings
        ),
        .testTarget(
            name: "BrowserTests",
            dependencies: ["Browser", userActivities, testing],
            path: "tab-hopper/BrowserTests",
            swiftSettings: settings
        ),
        // A player that another system continues at the same second.
        .executableTarget(
            name: "continue-playing",
            dependencies: ["SampleSystem", remoteSystems, userActivities, arguments],
            path: "continue-playing",
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        // A document with pictures that goes to another system over streams.
        .executableTarget(
            name: "picture-story",
            dependencies: ["SampleSystem", userActivities, arguments],
            path: "picture-story",
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        // An invitation that the user answers.
        .executableTarget(
            name: "event-invite",
            dependencies: ["SampleSystem", userNotifications, arguments],
            path: "event-invite",
            exclude: ["README.md", "install"],
            swiftSettings: settings
        ),
        // Shows an invitation with a slider.
        .executableTarget(
            name: "invite-card",
            dependencies: [userNotifications, userNotificationsUI],
            path: "invite-card",
            exclude: ["lines.txt"],
            swiftSettings: settings
        ),
        // Downloads the photo of a message before the message is shown.
        .executableTarget(
            name: "photo-extension",
            dependencies: [
                userNotifications, .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "photo-message",
            exclude: ["README.md", "install", "message.json", "serve-photo"],
            swiftSettings: settings
        ),
        // Code that uses the SDK, and its tests with scripted discovery.
        .target(name: "Player", dependencies: [remoteSystems], path: "testing/Player", swiftSettings: settings),
        .testTarget(
            name: "PlayerTests",
            dependencies: ["Player", remoteSystems, testing],
            path: "testing/PlayerTests",
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
