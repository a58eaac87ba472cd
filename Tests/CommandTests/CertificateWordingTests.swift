// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import IntegrationSupport
import RemoteSystemsIdentity
import Testing

extension CommandTests.Account {
    /// How `account show` describes the certificate of a system that cannot renew it by itself.
    @Test(
        arguments: [
            (-100.0, ["certificate  ended ", "'remotesystems doctor' says what to do"]),
            (-89.5, ["certificate  until ", "(0 days), not renewed yet"]),
            (-79.5, ["certificate  until ", "(10 days), renewed by itself"]),
            (-0.5, ["certificate  until ", "(89 days), renewed by itself"]),
            (10, ["certificate  begins ", "'remotesystems doctor' says what to do"]),
        ] as [(Double, [String])]
    )
    func `the description of a certificate depends on its age`(days: Double, words: [String]) async throws {
        try await Sandbox.with { sandbox in
            let made = Date.now.addingTimeInterval(days * 86_400)
            let authority = try AccountAuthority(creatingAt: made)
            let key = P256.Signing.PrivateKey()
            let identity = try SystemIdentity(
                rootCertificate: authority.rootCertificate,
                certificate: authority.issueCertificate(for: key.publicKey, now: made),
                systemKey: key,
                discoveryKey: DiscoveryKey(),
                isAuthority: false
            )
            _ = try AccountStore(directory: sandbox.state()).adopt(identity, now: made)
            let shown = try await sandbox.run("account", "show")
            #expect(shown.status == 0, "\(shown.errors)")
            let line = try #require(shown.lines.first { $0.hasPrefix("certificate") })
            for word in words { #expect(line.contains(word), "\(line)") }
            #expect(line.count <= 80)
            if days == -100 { #expect(!line.contains("renewed")) }
            // Ten days before the end, this and the list warn.
            let warning = "This system's certificate expires in 0 days"
            #expect(shown.errors.contains(warning) == (days == -89.5), "\(shown)")
            let doctor = try await sandbox.run("doctor", "--loopback", "--json")
            let isOver = days == -100 || days == 10
            let finding = doctor.json.first { ($0["code"] as? String) == (days == 10 ? "clock" : "certificate") }
            #expect((finding?["status"] as? String == "problem") == isOver, "\(finding ?? [:])")
            // An own certificate that has expired is blamed on no other system.
            let options = ["--loopback", "--wait", "1", "--json"]
            let list = try await sandbox.start(["list"] + options).finish()
            let listed = list.event("finding")
            #expect((listed?["code"] as? String == "certificate") == [-100, -89.5].contains(days), "\(list)")
            if days == -100 {
                #expect((listed?["what"] as? String)?.hasPrefix("This system's certificate expired") == true)
                let info = try await sandbox.start(["info", "missing"] + options).finish()
                #expect(info.event("failed")?["reason"] as? String == "expired", "\(info)")
            }
        }
    }
}
