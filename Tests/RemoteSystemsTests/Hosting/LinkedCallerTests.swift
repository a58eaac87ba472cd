// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsIdentity
import RemoteSystemsTesting
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What a host grants to a system of a linked account: the granted services, and the same refusal for everything else.
@Suite struct LinkedCallerTests {
    private static let account = AccountID(bytes: [UInt8](repeating: 1, count: 32))
    private static let system = SystemID(bytes: [UInt8](repeating: 2, count: 32))
    private static let own = SystemID(bytes: [UInt8](repeating: 3, count: 32))

    private func core(_ stage: DiscoveryStage) -> HostCore {
        HostCore(
            context: ApplicationContext(stage.configuration(applicationID: "test.host")),
            services: [
                AppService("test.granted") { _ in [:] }, AppService("test.other") { _ in [:] },
                AppService("test.anyone", options: .init(callers: .anyoneNearby)) { _ in [:] },
            ],
            application: SystemDescription.Application(
                id: "test.host",
                displayName: "Host",
                attributes: [:],
                services: [],
                uriSchemes: []
            )
        )
    }

    @Test func `a linked account's system gets the granted services, and the same refusal for everything else`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let core = self.core(stage)
            let account = try #require(Self.account)
            let peer = PeerIdentity(
                .linked(account, Grants(services: ["test.granted", "test.missing", Presence.service])),
                systemID: try #require(Self.system),
                expiry: .distantFuture
            )
            let cases: [(service: String, target: String?, isAccepted: Bool)] = [
                ("test.granted", nil, true),
                ("test.granted", "test.host", true),
                ("test.granted", "test.else", false),
                ("test.other", nil, false),
                ("test.anyone", nil, false),
                ("test.missing", nil, false),
                (Presence.service, nil, true),
                (Diagnosis.service, nil, false),
            ]
            for (service, target, isAccepted) in cases {
                let hello = Hello(
                    service: service,
                    targetApplication: target,
                    application: "test.caller",
                    limits: ConnectionLimits().peerLimits
                )
                switch await core.admit(hello, peer: peer, own: try #require(Self.own)) {
                case .accept: #expect(isAccepted, "\(service)")
                case .acceptStream: Issue.record("\(service) is no stream.")
                case .refuse(let refusal):
                    #expect(!isAccepted && refusal == AnonymousConnections.refusal, "\(service)")
                }
            }
        }
    }
}
