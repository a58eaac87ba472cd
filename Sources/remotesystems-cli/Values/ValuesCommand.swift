// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `remotesystems values`
struct ValuesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "values",
        abstract: "Turn JSON into the wire's encoding of values, and back.",
        discussion: """
            Values travel as deterministic CBOR (RFC 8949). What JSON has no type for is written with tags: \
            {"$date": 1.5}, {"$uuid": "…"}, {"$data": "base64"}, {"$url": "…"}, {"$set": […]}, {"$double": 1}; a key \
            of your own that begins with $ gets one more $.
            """,
        subcommands: [ValuesEncodeCommand.self, ValuesDecodeCommand.self]
    )
}
