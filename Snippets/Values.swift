// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Values by key.
// snippet.message
import ValueSets

var message: ValueSet = ["Type": "ping", "Attempt": 1, "Tags": ["a", "b"]]
message["Attempt"] = 2

let type = message["Type"]?.string  // "ping"
let attempt = message["Attempt"]?.int  // 2
let second = message["Tags"]?[1]  // "b"
// snippet.end

// Encoding and decoding.
// snippet.encode
let bytes = try message.encoded()
let received = try ValueSet(encoded: bytes)
assert(received == message)
// snippet.end

// Restricting messages.
// snippet.schema
let schema = AllowedValueSchema(fields: [
    .required("Type", .string),
    .required("Attempt", .integer),
    .optional("Tags", .array(of: .string)),
])
try schema.validate(message)
// snippet.end

// Types of a program's own.
// snippet.codable
struct Ping: Codable {
    var type: String
    var attempt: Int
}

let set = try ValueSetEncoder().encode(Ping(type: "ping", attempt: 1))
let ping = try ValueSetDecoder().decode(Ping.self, from: set)
// snippet.end
