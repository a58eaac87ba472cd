// swift-tools-version: 6.2
// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, because libFuzzer's flags must not reach the users of the libraries. See README.md.
let package = Package(
    name: "fuzzing",
    dependencies: [
        .package(name: "remote-systems", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "FuzzValueSets",
            dependencies: [.product(name: "ValueSets", package: "remote-systems")],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        )
    ],
    swiftLanguageModes: [.v6]
)
