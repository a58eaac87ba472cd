// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// Systems and applications that are reached without discovery: by address and by token.
@Suite struct FindingTests {
    static let echo = AppService("test.echo", options: .init(summary: "Says it again.")) { $0.message }

    // MARK: By address

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a system is found by its address, with its application (R-19, R-21, X-25, X-30)`(name: String) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.echo], attributes: ["room": "attic"]) { host in
                let system = try await RemoteSystem.find(
                    host: name,
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                let own = try AccountStore(directory: loopbackSystem.directory).identity()
                #expect(system.id == own.systemID)
                #expect(system.isLocal)
                #expect(system.status == .available)
                #expect(system.discoveryType == .proximal)
                let application = try #require(system.application("test.host"))
                #expect(application.attributes == ["room": "attic"])
                #expect(application.services.first?.summary == "Says it again.")
                let response = try await application.withAppService("test.echo") { try await $0.send(["n": 1]).get() }
                #expect(response == ["n": 1])
            }
        }
    }

    @Test func `at an address without a listener no system is found, and the error says so`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let configuration = loopbackSystem.configuration("test.caller")
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await RemoteSystem.find(host: "127.0.0.1", port: 1, configuration: configuration)
            }
            #expect(error?.code == .unreachable)
            #expect(error?.canRetry == true)
            let nonsense = await #expect(throws: RemoteSystemError.self) {
                _ = try await RemoteSystem.find(host: "", configuration: configuration)
            }
            #expect(nonsense?.code == .invalidArgument)
        }
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "kitchen", "127.1"])
    func `a process restricted to this machine connects to no other, and resolves no name`(host: String) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let configuration = loopbackSystem.configuration("test.caller")
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await RemoteSystem.find(host: host, configuration: configuration)
            }
            #expect(error?.code == .misuse)
            #expect(error?.side == .local)
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            await #expect(throws: RemoteSystemError.self) {
                _ = try await connection.open(
                    RemoteSystemConnectionRequest(host: host, port: 47_474, configuration: configuration)
                )
            }
        }
    }

    @Test func `a system of another account is not found`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await LoopbackSystem.with { strangers in
                try await loopbackSystem.withHost([Self.echo]) { host in
                    let port = try await host.port
                    let error = await #expect(throws: RemoteSystemError.self) {
                        _ = try await RemoteSystem.find(
                            host: "127.0.0.1",
                            port: port,
                            configuration: strangers.configuration("test.stranger")
                        )
                    }
                    #expect(error?.code == .notTrusted)
                }
            }
        }
    }

    @Test func `the default port is the command's`() {
        #expect(RemoteSystemHost.defaultPort == 47_474)
    }

    // MARK: By token

    static func application(_ endpoints: [Endpoint]) throws -> ConnectionToken {
        let system = try #require(SystemID(bytes: [UInt8](repeating: 7, count: 32)))
        return ConnectionToken(systemID: system, applicationID: "test.host", endpoints: endpoints)
    }

    @Test func `a stored token leads back to the application, without discovery (R-21, X-35)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.echo]) { host in
                let system = try await RemoteSystem.find(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                let token = try #require(system.application("test.host")?.connectionToken)
                var alone = loopbackSystem.configuration("test.other")
                alone.discovery.sources = []
                let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
                let request = try RemoteSystemConnectionRequest(connectionToken: token, configuration: alone)
                let status = try await connection.open(request)
                #expect(status == .success)
                #expect(connection.info?.peer.systemID == system.id)
                #expect(connection.info?.peer.claimedApplicationID == "test.host")
                let response = try await connection.send(["n": 1]).get()
                #expect(response == ["n": 1])
                await connection.close()
            }
        }
    }

    @Test func `another application or system at the token's address is not accepted`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.echo], application: "test.newcomer") { host in
                let own = try AccountStore(directory: loopbackSystem.directory).identity().systemID
                let endpoints = [Endpoint(host: "127.0.0.1", port: try await host.port)]
                let configuration = loopbackSystem.configuration("test.caller")
                let application = ConnectionToken(systemID: own, applicationID: "test.host", endpoints: endpoints)
                let tokens = [
                    (application, AppServiceConnectionStatus.appNotInstalled),
                    (try Self.application(endpoints), .notAuthorized),
                ]
                for (token, expected) in tokens {
                    let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
                    let status = try await connection.open(
                        RemoteSystemConnectionRequest(connectionToken: token.text, configuration: configuration)
                    )
                    #expect(status == expected)
                }
            }
        }
    }

    @Test(arguments: [
        [Endpoint(host: "192.0.2.1", port: 1)],
        [Endpoint(host: "fe80::1%eth0", port: 65_535), Endpoint(host: "host.example", port: 47_474)],
        [Endpoint(transport: .init(rawValue: "relay"), host: "7f3a", port: 0), Endpoint(host: "7f3a", port: 1)],
    ])
    func `a token survives its conversion to text`(endpoints: [Endpoint]) throws {
        let token = try Self.application(endpoints)
        let read = try ConnectionToken(token.text)
        #expect(read == token)
        #expect(read.endpoints.allSatisfy { $0.trust == .system(token.systemID) })
        #expect(token.text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ":-_".contains($0)) })
    }

    @Test func `a token holds at most sixteen addresses`() throws {
        let token = try Self.application((1...40).map { Endpoint(host: "192.0.2.\($0)", port: $0) })
        #expect(try ConnectionToken(token.text).endpoints.count == 16)
    }

    @Test(arguments: [
        "", "x", "remote-systems-connection:1", "remote-systems-connection:1:", "remote-systems-connection:1:!!!!",
        "remote-systems-connection:2:oA", "remote-systems-connection:1:oA", "remote-systems-connection:1:oA:",
        String(repeating: "x", count: 100_000),
    ])
    func `text that is not a token is refused with a reason`(text: String) throws {
        let error = #expect(throws: RemoteSystemError.self) {
            _ = try RemoteSystemConnectionRequest(
                connectionToken: text,
                configuration: RemoteSystemsConfiguration(applicationID: "test")
            )
        }
        #expect(error?.code == .invalidConnectionToken)
        #expect(error?.side == .local)
        #expect(error?.message.contains("connection token") == true)
    }

    @Test func `a token that names another system than that at its address leads to no stranger`() async throws {
        try await AnyoneNearbyTests.with { neighbours, _ in
            let (system, watcher) = try await neighbours.listed()
            await watcher.stop()
            var token = try ConnectionToken(try #require(system.applications.first).connectionToken)
            func open() async throws -> (AppServiceConnectionStatus, RemoteSystemError?) {
                let connection = AppServiceConnection(to: AppServiceDescription(name: "test.open"))
                let request = try RemoteSystemConnectionRequest(
                    connectionToken: token.text,
                    allowsAnyoneNearby: true,
                    configuration: neighbours.configuration("test.stranger", of: neighbours.strangers)
                )
                let status = try await connection.open(request)
                let error = connection.openError
                await connection.close()
                return (status, error)
            }
            let named = try await open()
            #expect(named.0 == .success)
            token.systemID = try AccountStore(directory: neighbours.strangers.directory).identity().systemID
            let (status, error) = try await open()
            #expect(status != .success && error?.code == .notTrusted)
        }
    }

    @Test func `a token leads to a system of another account only nearby, and only to the one that it names`() throws {
        let far = try Self.application([Endpoint(host: "192.0.2.1", port: 47_474)])
        #expect(try ConnectionToken(far.text).standing == .sameAccount)
        var token = far
        token.standing = .anonymous
        #expect(throws: RemoteSystemError.self) { _ = try ConnectionToken(token.text) }
        token.endpoints = [Endpoint(host: "localhost", port: 47_474)]
        #expect(throws: RemoteSystemError.self) { _ = try ConnectionToken(token.text) }
        // Only the transport could decide that, and this transport does not exist here.
        token.endpoints = [Endpoint(transport: .init(rawValue: "relay"), host: "192.168.1.20", port: 47_474)]
        #expect(throws: RemoteSystemError.self) { _ = try ConnectionToken(token.text) }
        token.endpoints = [Endpoint(host: "192.168.1.20", port: 47_474)]
        #expect(try ConnectionToken(token.text) == token)
    }

    @Test func `every truncation of a token is refused`() throws {
        let text = try Self.application([Endpoint(host: "192.0.2.1", port: 1)]).text
        for count in 0..<text.count {
            #expect(throws: RemoteSystemError.self) { _ = try ConnectionToken(String(text.prefix(count))) }
        }
    }

    // MARK: Capabilities

    @Test func `a system lists its capabilities (X-34; capability query)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.echo]) { host in
                let system = try await RemoteSystem.find(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                #expect(system.supports(.appService))
                #expect(!system.supports(.launchURI))
                #expect(!system.supports(.remoteSession))
                #expect(!system.supports(.spatialEntity))
                #expect(!system.supports(RemoteSystemCapability(rawValue: "teleport")))
                var opener = system
                opener.applications[0].uriSchemes = ["https"]
                #expect(opener.supports(.launchURI))
                opener.applications = []
                #expect(!opener.supports(.appService))
            }
        }
    }
}
