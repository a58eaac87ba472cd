// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import WebAssociations
import WebAssociationsHTTP

/// A machine that asks the test sites.
extension Sites {
    /// The configuration of a machine with a state directory of its own.
    ///
    /// - Parameters:
    ///   - hosts: the hosts that it looks for on the test server.
    ///   - isTrusting: whether it trusts the test authority.
    func machine(asking hosts: [String], isTrusting: Bool = true) throws -> RemoteSystemsConfiguration {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "com.example.asking",
            network: .loopback,
            stateDirectory: "\(self.directory)/\(UUID())"
        )
        try AssociationSettings.change(configuration) { settings in
            settings.authorities = isTrusting ? "\(self.directory)/authority.pem" : nil
            for host in hosts {
                settings.sites[host] = .init(address: .init(host: "127.0.0.1", port: self.port))
            }
        }
        return configuration
    }

    /// A verifier of a machine that looks for the hosts on the test server.
    func verifier(
        asking hosts: [String],
        isTrusting: Bool = true,
        timeLimit: Duration = .seconds(60)
    ) throws -> AssociationVerifier {
        AssociationVerifier(
            try self.machine(asking: hosts, isTrusting: isTrusting),
            timeLimit: timeLimit,
            // A handshake can take longer on a busy machine than a user would wait.
            makeClient: { settings, authorities throws(AssociationFailure) in
                try HTTPSAssociationClient(
                    sites: settings.sites,
                    authorities: authorities,
                    connectTimeout: .seconds(60)
                )
            }
        )
    }

    /// The test authority, as DER.
    func authorities() throws -> [[UInt8]] {
        var settings = AssociationSettings()
        settings.authorities = "\(self.directory)/authority.pem"
        return try settings.authorityCertificates()
    }
}
