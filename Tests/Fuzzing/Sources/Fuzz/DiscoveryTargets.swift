// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

@testable import RemoteSystemsDiscovery

/// Reads the input as the strings of a TXT record, each preceded by its length.
func fuzzTXTRecord(_ input: [UInt8]) {
    var strings: [[UInt8]] = []
    var rest = input[...]
    while let count = rest.popFirst() {
        strings.append(Array(rest.prefix(Int(count))))
        rest = rest.dropFirst(Int(count))
    }
    let properties = TXTRecord.decode(strings)
    checkProperties(properties)
    // Every decoded property can be advertised.
    do { try TXTRecord.validate(properties) } catch { broken("decoded, but not valid: \(error)") }
    let encoded = TXTRecord.encode(properties)
    var again: [[UInt8]] = []
    rest = encoded[...]
    while let count = rest.popFirst() {
        require(Int(count) <= rest.count, "an encoded string is cut off")
        again.append(Array(rest.prefix(Int(count))))
        rest = rest.dropFirst(Int(count))
    }
    require(TXTRecord.decode(again) == properties, "a TXT record changed")
}

private func checkProperties(_ properties: [String: [UInt8]]) {
    let bytes = properties.reduce(0) { $0 + $1.key.utf8.count + $1.value.count }
    require(properties.count <= DiscoveryLimits.properties, "a TXT record has too many properties")
    require(bytes <= DiscoveryLimits.propertyBytes, "a TXT record has too many bytes")
    for key in properties.keys {
        require(key == key.lowercasedASCII && key.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a key is malformed")
    }
}

/// Reads the input as a response to a one-shot query.
func fuzzOneShotResponse(_ input: [UInt8]) {
    // The id is the input's own, because a guess is improbable. Another id must be refused.
    let id = input.count >= 2 ? UInt16(input[0]) << 8 | UInt16(input[1]) : 0
    require(OneShotQueryMessage.answers(in: input, to: ~id).isEmpty, "a response to another query was read")
    let answers = OneShotQueryMessage.answers(in: input, to: id)
    // Announcements are read whatever their id is.
    require(OneShotQueryMessage.answers(in: input, to: nil) == answers, "an announcement is read differently")
    require(answers.count <= 256, "a response has more instances than records are read")
    for answer in answers {
        require((1...65_535).contains(answer.port), "an instance has no port")
        require(answer.instance.utf8.count <= 3 * 64, "an instance's label is too long")
        require(answer.hostName.utf8.count <= 3 * 1025, "a host's name is too long")
        require(answer.addresses.count <= 256, "an instance has too many addresses")
        checkProperties(answer.properties)
        for address in answer.addresses { require(!address.text(scope: "eth0").isEmpty, "an address has no text") }
    }
}
