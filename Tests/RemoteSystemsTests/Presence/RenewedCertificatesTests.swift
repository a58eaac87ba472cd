// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// The limits of signing certificates for other systems.
@Suite struct RenewedCertificatesTests {
    private static let start = ContinuousClock.now

    private static func system(_ number: Int) throws -> SystemID {
        let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 0, count: 30)
        return try #require(SystemID(bytes: bytes))
    }

    @Test func `a system gets the same certificate for ten minutes, and a new one for a new root key`() throws {
        var renewed = RenewedCertificates()
        let system = try Self.system(1)
        #expect(renewed.requested(by: system, roots: 1, now: Self.start) == .sign)
        renewed.signed([1], for: system, roots: 1, now: Self.start)
        #expect(renewed.requested(by: system, roots: 1, now: Self.start + .seconds(599)) == .respond([1]))
        #expect(renewed.requested(by: system, roots: 2, now: Self.start + .seconds(1)) == .sign)
        renewed.signed([2], for: system, roots: 2, now: Self.start + .seconds(1))
        #expect(renewed.requested(by: system, roots: 2, now: Self.start + .seconds(600)) == .respond([2]))
        #expect(renewed.requested(by: system, roots: 2, now: Self.start + .seconds(601)) == .sign)
        #expect(renewed.count == 0)
    }

    @Test func `many systems reach a limit, which ends after ten minutes`() throws {
        var renewed = RenewedCertificates()
        for number in 0..<1_024 {
            let system = try Self.system(number)
            #expect(renewed.requested(by: system, roots: 1, now: Self.start) == .sign)
            renewed.signed([1], for: system, roots: 1, now: Self.start)
        }
        let (known, new) = (try Self.system(5), try Self.system(2_000))
        #expect(renewed.requested(by: new, roots: 1, now: Self.start) == .refuse)
        #expect(renewed.requested(by: known, roots: 1, now: Self.start) == .respond([1]))
        #expect(renewed.requested(by: new, roots: 1, now: Self.start + .seconds(600)) == .sign)
        #expect(renewed.count == 0)
    }

    @Test func `sixty requests of one system at once get one certificate, or a refusal that can be retried`()
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([AppService.ping]) { host in
                let local = ApplicationContext(loopbackSystem.configuration("test.watcher"))
                let watcher = try await local.connector().connect(
                    to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
                    expecting: nil,
                    hello: local.hello(service: Presence.service, targetApplication: nil, limits: local.limits)
                ) { _, _ in Response() }
                let request = try local.security().identity.makeRenewalRequest()
                var certificates: Set<Data> = []
                try await withThrowingTaskGroup(of: Response.self) { group in
                    for _ in 0..<60 {
                        group.addTask {
                            try await watcher.send(
                                ["Type": "renew", "Request": .data(Data(request))],
                                timeout: .seconds(60)
                            )
                        }
                    }
                    for try await response in group {
                        if response.status == .success {
                            certificates.insert(try #require(response.message["Certificate"]?.data))
                        } else {
                            #expect(response.failure?.code == "busy" && response.failure?.canRetry == true)
                        }
                    }
                }
                #expect(certificates.count == 1)
                await watcher.close()
            }
        }
    }
}
