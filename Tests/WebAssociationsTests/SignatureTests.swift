// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

@testable import WebAssociations

/// Signed association files, with openssl as the other implementation. What openssl signs is read by `SiteTests`.
@Suite(.timeLimit(.minutes(2))) struct SignatureTests {
    private static let content = Array(#"{"activitycontinuation": {"apps": ["KEY1.com.example.reader"]}}"#.utf8)

    private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static func openssl(_ arguments: String...) async throws -> (status: Int32, output: String) {
        let process = try ChildProcess(["openssl"] + arguments, readsErrors: true)
        let status = try await process.exit(within: .seconds(30))
        return (status, try await process.allLines().joined(separator: "\n"))
    }

    @Test(arguments: ["rsa", "ec"])
    func `openssl verifies what is signed here, and refuses it after a change (H-86)`(key: String) async throws {
        try await Sites.with { sites in
            let (der, hosts) = try SignedAssociation.sign(
                Self.content,
                key: try Self.text("\(sites.directory)/\(key).key"),
                certificates: try Self.text("\(sites.directory)/\(key).pem")
            )
            #expect(hosts.first == "signed-\(key).example")
            for (bytes, isValid) in [(der, true), (Self.changed(der, "KEY1", "KEY2"), false)] {
                let file = "\(sites.directory)/\(UUID()).der"
                try Data(bytes).write(to: URL(fileURLWithPath: file))
                let (status, output) = try await Self.openssl(
                    "smime",
                    "-verify",
                    "-inform",
                    "DER",
                    "-in",
                    file,
                    "-CAfile",
                    "\(sites.directory)/authority.pem",
                    "-purpose",
                    "sslserver"
                )
                #expect((status == 0) == isValid, "\(output)")
                #expect(!isValid || output.contains("KEY1.com.example.reader"), "\(output)")
            }
        }
    }

    @Test func `a signature counts for the hosts of its certificate, of a trusted authority (H-85, H-87)`() async throws
    {
        try await Sites.with { sites in
            let authority = try sites.authorities()
            let (der, _) = try SignedAssociation.sign(
                Self.content,
                key: try Self.text("\(sites.directory)/rsa.key"),
                certificates: try Self.text("\(sites.directory)/rsa.pem")
            )
            let signed = try SignedAssociation(der: der)
            #expect(signed.content == Self.content)
            #expect(try await signed.verify(host: "signed-rsa.example", authorities: authority).contains("rsa"))
            for (host, authorities) in [
                ("signed-ec.example", authority), ("www.signed-rsa.example", authority), ("example", authority),
                ("signed-rsa.example", []),
            ] {
                await #expect(throws: AssociationFailure.self, "\(host)") {
                    try await signed.verify(host: host, authorities: authorities)
                }
            }
        }
    }

    @Test func `no changed byte is accepted with other content, and none ends the program`() async throws {
        try await Sites.with { sites in
            let authority = try sites.authorities()
            let (der, _) = try SignedAssociation.sign(
                Self.content,
                key: try Self.text("\(sites.directory)/ec.key"),
                certificates: try Self.text("\(sites.directory)/ec.pem")
            )
            for index in der.indices {
                var changed = der
                changed[index] ^= 0x01
                guard let signed = try? SignedAssociation(der: changed) else { continue }
                let signer = try? await signed.verify(host: "signed-ec.example", authorities: authority)
                #expect(signer == nil || signed.content == Self.content, "byte \(index)")
            }
            for count in stride(from: 0, to: der.count, by: 7) {
                #expect(throws: AssociationFailure.self) { try SignedAssociation(der: Array(der.prefix(count))) }
            }
            #expect(throws: AssociationFailure.self) { try SignedAssociation(der: der + [0]) }
        }
    }

    @Test func `a key of another certificate, or a file of another form, is not signed (H-86)`() async throws {
        try await Sites.with { sites in
            let (rsa, ec) = (try Self.text("\(sites.directory)/rsa.key"), try Self.text("\(sites.directory)/ec.pem"))
            #expect(throws: AssociationFailure.self) {
                try SignedAssociation.sign(Self.content, key: rsa, certificates: ec)
            }
            let key = try Self.text("\(sites.directory)/ec.key")
            for (content, key, certificates) in [
                (Array("{".utf8), key, ec), (Self.content, "no key", ec), (Self.content, key, "no certificate"),
            ] {
                #expect(throws: AssociationFailure.self) {
                    try SignedAssociation.sign(content, key: key, certificates: certificates)
                }
            }
        }
    }

    private static func changed(_ bytes: [UInt8], _ text: String, _ other: String) -> [UInt8] {
        var bytes = bytes
        if let range = bytes.firstRange(of: Array(text.utf8)) { bytes.replaceSubrange(range, with: Array(other.utf8)) }
        return bytes
    }
}
