// swift-tools-version: 6.2
// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, because libFuzzer's flags must not reach the users of the libraries. See README.md.
let package = Package(
    name: "fuzzing",
    dependencies: [
        .package(name: "remote-systems", path: "../.."),
        .package(url: "https://github.com/apple/swift-crypto", "4.5.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        // The heap's counters, which the targets compare with their bounds.
        .target(name: "CFuzzSupport"),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "CFuzzSupport",
                .product(name: "RemoteSystems", package: "remote-systems"),
                .product(name: "RemoteSystemsDesktop", package: "remote-systems"),
                .product(name: "UserActivities", package: "remote-systems"),
                .product(name: "UserNotifications", package: "remote-systems"),
                .product(name: "UserNotificationsUI", package: "remote-systems"),
                .product(name: "ValueSets", package: "remote-systems"),
                .product(name: "WebAssociations", package: "remote-systems"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        ),
    ],
    swiftLanguageModes: [.v6]
)
