// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems values encode`.
struct ValuesEncodeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "encode",
        abstract: "Encode JSON as CBOR.",
        usage: "remotesystems values encode [<json>] [<options>]",
        discussion: "Exit status: 1 if the input is not a valid value, or the schema does not allow it."
    )

    @Argument(help: "The JSON. '-' or no argument reads standard input.")
    var json: String?

    @Option(help: "The form of the CBOR.")
    var format = ByteFormat.hex

    @Option(help: "First check the value against a schema.")
    var schema: NamedSchema?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if self.format == .raw, self.common.json {
            throw ValidationError("--json requires --format hex or base64.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let input = try Input.read(self.json)
        let bytes: [UInt8]
        do throws(ValueSetError) {
            let value = try Value(json: Data(input))
            try self.schema?.check(value)
            bytes = try value.encoded()
        } catch {
            try Failure(error).report(output)
            return false
        }
        if self.format == .raw {
            try output.raw(bytes)
        } else {
            let text = self.format.text(of: bytes)
            try output.json(EncodedOutput(format: self.format, data: text, bytes: bytes.count))
            try output.line(text)
        }
        return true
    }
}

/// The output of `values encode --json`.
private struct EncodedOutput: Encodable {
    let event = "encoded"
    var format: ByteFormat
    var data: String
    var bytes: Int
}
