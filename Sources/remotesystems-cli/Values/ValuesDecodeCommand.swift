// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// `remotesystems values decode`
struct ValuesDecodeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decode CBOR to JSON.",
        usage: "remotesystems values decode [<data>] [<options>]",
        discussion: """
            Only the one encoding that the wire allows is taken; for anything else the error says at which byte, and at \
            which key, it breaks which rule. Exits with 1 then.
            """
    )

    @Argument(help: "The CBOR in hex or base64; '-' or nothing for standard input.")
    var data: String?

    @Option(help: "How the CBOR is written: hex, base64 or raw (standard input only).")
    var format = ByteFormat.hex

    @Option(help: "Check against a schema, too: appService, userActivity or full.")
    var schema: NamedSchema?

    @Flag(help: "Break lines and indent.")
    var pretty = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.format != .raw || self.data == nil || self.data == "-" else {
            throw ValidationError("Raw bytes come from standard input, not as an argument.")
        }
        guard !self.pretty || !self.common.json else {
            throw ValidationError("--json prints one line; leave --pretty out.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let input = try Input.read(self.data)
        do {
            let bytes = try self.format.bytes(of: input)
            let value = try Value(encoded: bytes)
            try self.schema?.check(value)
            try output.json(DecodedOutput(value: value, bytes: bytes.count))
            try output.line(try value.json(prettyPrinted: self.pretty))
            return true
        } catch let error as ValueSetError {
            try Failure(error).report(output)
            return false
        } catch let error as ByteFormat.Malformed {
            try Failure(error).report(output)
            return false
        }
    }
}

private struct DecodedOutput: Encodable {
    let event = "decoded"
    var value: Value
    var bytes: Int
}
