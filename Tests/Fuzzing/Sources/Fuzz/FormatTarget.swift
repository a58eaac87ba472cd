// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

@testable import RemoteSystems
@testable import RemoteSystemsDesktop
@testable import RemoteSystemsIdentity
@testable import UserNotifications

/// Reads the input as the file of a thumbnailer, as the rules of a packet filter, as an attachment, and as a recovery
/// file.
func fuzzFormat(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    if let thumbnailer = Thumbnailer(text) { check(thumbnailer) }
    checkFirewall(input, text)
    checkAttachment(input)
    checkRecoveryFile(input, text)
}

private func check(_ thumbnailer: Thumbnailer) {
    require(thumbnailer.mediaTypes.allSatisfy { $0 == $0.lowercased() && !$0.isEmpty }, "a type matches no file")
    let (input, result, otherInput, otherResult) = ("/a/marker-in", "/a/marker-out", "/a/other", "/a/another")
    guard !thumbnailer.exec.contains(where: { $0.contains("marker") }),
        let one = thumbnailer.arguments(input, to: result, pixels: 256)
    else { return }
    require(one.first == thumbnailer.exec.first, "another program would start")
    require(one.count == thumbnailer.exec.count, "a path becomes several arguments")
    require(one.contains { $0.contains(input) } && one.contains { $0.contains(result) }, "a path is missing")
    guard let other = thumbnailer.arguments(otherInput, to: otherResult, pixels: 256) else {
        broken("whether a thumbnailer is used depends on the path")
    }
    let replaced = one.map { $0.replacing(input, with: otherInput).replacing(result, with: otherResult) }
    require(replaced == other, "a path changed an argument")
    if let script = ExecLine.scriptIndex(thumbnailer.exec) {
        require(!one[script].contains("marker"), "a path becomes part of a command")
    }
}

private func checkFirewall(_ input: [UInt8], _ text: String) {
    var all = [FirewallRules(iptablesSave: text, isIPv6: false)]
    if let rules = FirewallRules(nftables: input, leavesOutForeign: false) { all.append(rules) }
    if let rules = FirewallRules(nftables: input, leavesOutForeign: true) { all.append(rules) }
    for rules in all where !rules.chains.isEmpty {
        for packet in [
            FirewallPacket.multicast(isIPv6: false, interface: "eth0"),
            .multicast(isIPv6: true, interface: "eth0", isOutgoing: true),
            .connection(to: 0, isIPv6: true, interface: "eth0"),
            .connection(to: 47_474, isIPv6: false, interface: "eth0"),
        ] {
            let verdict = rules.verdict(on: packet)
            require(FirewallRules().merged(with: rules).verdict(on: packet) == verdict, "rules without others changed")
            guard case .dropped = verdict else { continue }
            require(rules.chains.values.contains { $0.base != nil }, "a packet that no chain gets is dropped")
        }
    }
}

private func checkAttachment(_ input: [UInt8]) {
    func read(_ bytes: [UInt8]) -> AttachmentFormat? {
        AttachmentFormat { offset, count in part(of: bytes, offset, count) }
    }
    guard let format = read(input) else { return }
    require((format.pixels ?? 0) >= 0, "an image has a negative size")
    require(format.type.kind == .image || format.pixels == nil, "something else than an image has a size")
    let head = read(Array(input.prefix(AttachmentFormat.headBytes)))
    require(head?.type == format.type, "a format depends on more than the first bytes")
    func damage(_ bytes: [UInt8]) -> ImageDamage? {
        format.damage { offset, count in part(of: bytes, offset, count) }
    }
    let found = damage(input)
    require(format.type.kind == .image || found == nil, "something else than an image is a damaged one")
    guard found == nil else { return }
    require(damage(input + [0, 1, 2, 3]) == nil, "an image with more after its end is damaged")
}

private func part(of bytes: [UInt8], _ offset: Int64, _ count: Int) -> [UInt8] {
    require(offset >= 0 && count <= 4096, "a reader reads what no header needs")
    guard offset < Int64(bytes.count) else { return [] }
    return Array(bytes.dropFirst(Int(offset)).prefix(count))
}

private func checkRecoveryFile(_ input: [UInt8], _ text: String) {
    if let sealed = try? RecoveryFile.sealedBytes(in: text, path: "/a") { checkSeal(sealed) }
    checkSeal(input)
    // A checksum is not found by chance.
    checkSeal(input + PassphraseSeal.checksum(input))
    guard let content = try? RecoveryFile.content(input, path: "/a") else { return }
    guard let bytes = try? JSONEncoder().encode(content),
        let again = try? RecoveryFile.content(Array(bytes), path: "/a")
    else { broken("an account cannot be stored") }
    require(again == content, "an account changed")
}

/// Checks what is read before the key is derived, which takes half a second.
private func checkSeal(_ bytes: [UInt8]) {
    guard let parts = try? PassphraseSeal.Parts(bytes) else { return }
    require(parts.factors.isBearable, "a passphrase may take any time")
    let body = parts.header + parts.nonce + parts.ciphertext + parts.tag
    require(body + PassphraseSeal.checksum(body) == bytes, "sealed bytes changed")
    require(parts.nonce.count == 12 && parts.tag.count == 16, "a part of the seal is cut off")
}
