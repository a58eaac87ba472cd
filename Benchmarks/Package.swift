// swift-tools-version: 6.2
// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A separate package, so that gRPC, Protocol Buffers and others never enter the dependency graphs of the SDK's users.
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

let package = Package(
    name: "remote-systems-benchmarks",
    products: [
        .executable(name: "bench", targets: ["bench"]),
        // Preloaded into a child process while its allocations are counted, and only then.
        .library(name: "AllocationCounter", type: .dynamic, targets: ["CAllocationCounter"]),
    ],
    dependencies: [
        .package(name: "remote-systems", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-crypto", "4.5.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    ],
    targets: [
        // Measurements and statistics: pure values, no clock and no I/O.
        .target(name: "Measuring", swiftSettings: settings),
        .testTarget(name: "MeasuringTests", dependencies: ["Measuring"], swiftSettings: settings),
        // A monotonic clock, and child processes that end with their parent.
        .target(name: "CBenchSupport"),
        // The D-Bus peer, written in C against sd-bus, so that no bridge to Swift slows it down.
        .target(name: "CBusPeer", linkerSettings: [.linkedLibrary("systemd")]),
        .target(name: "CAllocationCounter", dependencies: ["CBenchSupport"], publicHeadersPath: "."),
        .executableTarget(
            name: "bench",
            dependencies: [
                "Measuring", "CBenchSupport", "CBusPeer",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "RemoteSystems", package: "remote-systems"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
                .product(name: "UserActivities", package: "remote-systems"),
                .product(name: "ValueSets", package: "remote-systems"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
