// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `remotesystems values`.
struct ValuesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "values",
        abstract: "Convert between JSON and the binary encoding of values.",
        discussion: """
            Values are sent as deterministic CBOR (RFC 8949). Values of types that JSON lacks are written with tags: \
            {"$date": 1.5}, {"$uuid": "…"}, {"$data": "base64"}, {"$url": "…"}, {"$set": […]}, {"$double": 1}. An \
            ordinary key that begins with $ is written with one more $.
            """,
        subcommands: [ValuesEncodeCommand.self, ValuesDecodeCommand.self]
    )
}
