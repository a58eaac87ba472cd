// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

/// Where a system may be reached, as text, and what an endpoint requires of a connector.
@Suite struct EndpointTests {
    static let relay = TransportKind(rawValue: "relay")

    @Test(arguments: [
        (Endpoint(host: "10.0.0.5", port: 47_474), "10.0.0.5:47474"),
        (Endpoint(host: "fe80::1%eth0", port: 47_474), "[fe80::1%eth0]:47474"),
        (Endpoint(host: "kitchen.example", port: 1), "kitchen.example:1"),
        (Endpoint(transport: relay, host: "7f3a", port: 0), "relay:7f3a"),
        (Endpoint(transport: relay, host: "7f3a", port: 9), "relay:7f3a:9"),
    ])
    func `an endpoint's text has the form that users type, after the name of a transport other than IP`(
        endpoint: Endpoint,
        text: String
    ) {
        #expect("\(endpoint)" == text)
    }

    @Test func `endpoints are equal if they are the same place, whatever else they carry`() {
        let endpoint = Endpoint(host: "10.0.0.5", port: 1)
        var other = endpoint
        other.discoveryType = .proximal
        other.trust = .account
        other.connectTimeout = .seconds(1)
        #expect(other == endpoint)
        #expect(Set([endpoint, other]).count == 1)
        let elsewhere = [
            Endpoint(host: "10.0.0.5", port: 2), Endpoint(host: "10.0.0.6", port: 1),
            Endpoint(transport: Self.relay, host: "10.0.0.5", port: 1),
        ]
        for place in elsewhere { #expect(place != endpoint) }
    }

    // MARK: Requirements for a connector

    private static func connector(limit: TimeAmount? = nil) throws -> Connector {
        var connector = Connector(
            security: try TransportSecurity(identity: TestAccount().system()),
            limits: .patient,
            timeout: .seconds(5),
            logger: TestLog().logger
        )
        connector.timeoutLimit = limit
        connector.accepted = [.sameAccount, .anonymous]
        return connector
    }

    @Test(
        arguments: [
            (nil, nil, .seconds(5)), (.seconds(20), nil, .seconds(20)), (.seconds(1), nil, .seconds(1)),
            (nil, .seconds(2), .seconds(2)), (.seconds(20), .seconds(2), .seconds(2)),
            (.seconds(1), .seconds(2), .seconds(1)), (nil, .seconds(9), .seconds(5)),
        ] as [(TimeAmount?, TimeAmount?, TimeAmount)]
    )
    func `an endpoint's own timeout replaces the default, within its caller's limit`(
        own: TimeAmount?,
        limit: TimeAmount?,
        expected: TimeAmount
    ) throws {
        var endpoint = Endpoint(host: "10.0.0.5", port: 1)
        endpoint.connectTimeout = own
        #expect(try Self.connector(limit: limit).adapted(to: endpoint, expecting: nil).connector.timeout == expected)
    }

    @Test func `an endpoint narrows which systems are accepted, and never widens it`() throws {
        let connector = try Self.connector()
        let (own, other) = (connector.security.systemID, try TestAccount().system().systemID)
        var endpoint = Endpoint(host: "10.0.0.5", port: 1)
        func adapted(_ expected: SystemID?) throws -> (connector: Connector, system: SystemID?) {
            try connector.adapted(to: endpoint, expecting: expected)
        }
        #expect(try adapted(nil).system == nil)
        #expect(try adapted(nil).connector.accepted.contains(.anonymous))
        #expect(try adapted(own).system == own)
        endpoint.trust = .account
        #expect(try adapted(own).system == own)
        #expect(try adapted(nil).connector.accepted == [.sameAccount])
        endpoint.trust = .system(own)
        #expect(try adapted(nil).system == own)
        #expect(try adapted(own).system == own)
        let error = #expect(throws: TransportError.self) { _ = try adapted(other) }
        #expect(error?.code == .peerNotTrusted)
    }
}
