// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems values decode`.
struct ValuesDecodeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decode CBOR to JSON.",
        usage: "remotesystems values decode [<data>] [<options>]",
        discussion: """
            Accepts only the deterministic encoding. For other input, the error names the broken rule, the byte and \
            the key.

            Exit status: 1 if the input is invalid.
            """
    )

    @Argument(help: "The CBOR in hex or base64. '-' or no argument reads standard input.")
    var data: String?

    @Option(help: "The form of the CBOR; raw only from standard input.")
    var format = ByteFormat.hex

    @Option(help: "Also check the value against a schema.")
    var schema: NamedSchema?

    @Flag(help: "Print indented JSON on several lines.")
    var pretty = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.format != .raw || self.data == nil || self.data == "-" else {
            throw ValidationError("--format raw reads standard input; omit the argument.")
        }
        guard !self.pretty || !self.common.json else {
            throw ValidationError("--json and --pretty cannot be combined.")
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

/// The output of `values decode --json`.
private struct DecodedOutput: Encodable {
    let event = "decoded"
    var value: Value
    var bytes: Int
}
