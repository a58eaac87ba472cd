// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Measuring
import NIOCore
import NIOPosix
import RemoteSystems
import SwiftASN1

/// A forged announcement. It arrives in a datagram on loopback, as one of multicast DNS does on a network.
struct ForgedAnnouncement: Codable, Sendable {
    var id: String
    var instance: String
    var properties: [String: [UInt8]]

    /// Reads announcements.
    final class Receiver: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>

        private let receive: @Sendable (ForgedAnnouncement) -> Void

        init(_ receive: @escaping @Sendable (ForgedAnnouncement) -> Void) { self.receive = receive }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Data(unwrapInboundIn(data).data.readableBytesView)
            guard let announcement = try? JSONDecoder().decode(ForgedAnnouncement.self, from: bytes) else { return }
            receive(announcement)
        }
    }
}

extension Attacker {
    /// The number of announcements at once, every ten milliseconds.
    private static let atOnce = 5

    /// Sends 500 announcements a second: with tags of a former discovery key, or alternately with unknown tags and
    /// copies of an advertisement.
    func forge() async throws {
        let folder = try FolderDiscovery(folder: "\(setup.directory)/\(AttackedSystem.folder)")
        guard let copied = folder.hints().first else { throw BenchError("There is no advertisement to copy.") }
        let key = try attack == .formerTags ? formerKey() : nil
        let target = try SocketAddress(ipAddress: "127.0.0.1", port: client.port)
        let channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(to: SocketAddress(ipAddress: "127.0.0.1", port: 0)).get()
        defer { channel.close(promise: nil) }
        while true {
            for number in 0..<Self.atOnce {
                try Task.checkCancellation()
                let id = "forged-\(UInt64.random(in: 0 ... .max))"
                var announcement = ForgedAnnouncement(id: id, instance: id, properties: copied.properties)
                if let key {
                    announcement.properties["t"] = Self.tag(of: id, key)
                } else if number.isMultiple(of: 2) {
                    announcement.instance = copied.instance
                } else {
                    announcement.properties["t"] = (0..<8).map { _ in UInt8.random(in: 0 ... .max) }
                }
                let bytes = ByteBuffer(bytes: try JSONEncoder().encode(announcement))
                try await channel.writeAndFlush(AddressedEnvelope(remoteAddress: target, data: bytes)).get()
            }
            // The rate of the attack, not a wait for something.
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The discovery key that the revoked system had.
    private func formerKey() throws -> SymmetricKey {
        let path = "\(setup.directory)/system-\(Systems.revoked)/account/discovery-key.pem"
        let bytes = try PEMDocument(pemString: String(contentsOfFile: path, encoding: .utf8)).derBytes
        guard bytes.count == 32 else { throw BenchError("The revoked system has the key of a later list.") }
        return SymmetricKey(data: bytes)
    }

    /// The tag of an instance (Docs/wire/discovery.md).
    private static func tag(of instance: String, _ key: SymmetricKey) -> [UInt8] {
        let code = HMAC<SHA256>.authenticationCode(for: Array("remote-systems/1\(instance)".utf8), using: key)
        return Array(code.prefix(8))
    }
}
