// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import RemoteSystems
import RemoteSystemsTesting
import Testing

/// Errors that new users meet first. Each names the fault and what to do.
@Suite struct HelpfulErrorTests {
    private struct Wrong: Codable { var level: Bool }
    private struct Broken: Error, CustomStringConvertible { var description: String }

    @Test func `data in a message that does not allow it is refused with how to allow it`() async throws {
        try await Loopback.talk(Loopback.echo) { connection in
            let error = await #expect(throws: RemoteSystemError.self) {
                try await connection.send(["Image": .data(Data([1]))])
            }
            #expect(error?.message.contains("Image: ") == true)
            #expect(error?.message.contains("basedOn: .full") == true)
        }
    }

    @Test func `a response of another form is reported with its key and both types`() async throws {
        try await Loopback.talk(Loopback.echo) { connection in
            let error = await #expect(throws: RemoteSystemError.self) {
                let message = ["level": 7]
                let _: Wrong = try await connection.send(message)
            }
            #expect(error?.message.contains("Wrong: level: ") == true)
            #expect(error?.message.contains("Found: integer. Allowed: a boolean.") == true)
        }
    }

    @Test func `a message that cannot be encoded is reported with the reason`() async throws {
        try await Loopback.talk(Loopback.echo) { connection in
            let error = await #expect(throws: RemoteSystemError.self) {
                let _: Wrong = try await connection.send([1, 2])
            }
            #expect(error?.code == .invalidMessage)
            #expect(error?.message.contains("wrap the value in a structure") == true)
        }
    }

    @Test func `a handler's error is in the host's log, and not in the response`() async throws {
        let log = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in log }
        logger.logLevel = .warning
        let failing = AppService("test.failing") { _ in
            throw Broken(description: "the printer\nis off \(String(repeating: "x", count: 2000))")
        }
        try await LoopbackSystem.with { loopbackSystem in
            var hosting = loopbackSystem
            hosting.logger = logger
            try await hosting.withHost([failing]) { host in
                let description = AppServiceDescription(name: "test.failing")
                let (connection, status) = try await Loopback.connect(loopbackSystem, host, description)
                #expect(status == .success)
                let response = try await connection.send([:])
                #expect(response.status == .failure)
                #expect(response.error?.message.contains("printer") == false)
                await connection.close()
            }
        }
        let entry = try #require(log.entries.first { "\($0.message)" == "A handler failed" })
        let error = try #require(entry.metadata["error"].map { "\($0)" })
        #expect(error.hasPrefix("Broken: the printer is off xxx"))
        #expect(error.utf8.count < 600)
    }

    @Test func `an unknown service is refused with the services that the caller may call`() async throws {
        let services = [
            AppService("test.volume") { $0.message }, AppService("test.light") { $0.message },
            AppService("test.secret", options: .init(callers: .applications(["test.friend"]))) { $0.message },
        ]
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost(services) { host in
                let (connection, status) = try await Loopback.connect(
                    loopbackSystem,
                    host,
                    AppServiceDescription(name: "test.volmue")
                )
                #expect(status == .appServiceUnavailable)
                let message = try #require(connection.openError?.message)
                #expect(message.contains("no service test.volmue"))
                #expect(message.contains("Did you mean 'test.volume'?"))
                #expect(message.contains("It offers test.light and test.volume."))
                #expect(!message.contains("secret"))
            }
        }
    }

    @Test func `an application or a service that a listed system lacks is reported with those that it has`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            try await watcher.start()
            try await stage.appears(try stage.system("Box", services: [Loopback.echo]))
            let request = RemoteSystemConnectionRequest(system: try #require(watcher.systems.first))
            let wrongService = AppServiceConnection(to: AppServiceDescription(name: "test.eco"))
            #expect(try await wrongService.open(request) == .appServiceUnavailable)
            #expect(wrongService.openError?.message.contains("Did you mean 'test.echo'?") == true)
            let description = AppServiceDescription(name: "test.echo", applicationID: "test.hots")
            let wrongApplication = AppServiceConnection(to: description)
            #expect(try await wrongApplication.open(request) == .appNotInstalled)
            #expect(wrongApplication.openError?.message.contains("Did you mean 'test.host'?") == true)
        }
    }

    @Test func `a request on a closed connection reports that a new one is needed`() async throws {
        try await DiscoveryStage.withConnectedPair(Loopback.echo) { pair in
            pair.link.cut(at: .request())
            let lost = try await pair.client.send([:])
            #expect(lost.error?.code == .connectionLost)
            #expect(lost.error?.canRetry == false)
            let late = try await pair.client.send([:])
            #expect(late.error?.code == .connectionClosed)
            #expect(late.error?.canRetry == false)
            #expect(late.error?.message.contains("Open a new one") == true)
        }
    }

    @Test func `a message without a connection may be retried after the connection was lost`() async throws {
        try await DiscoveryStage.with { stage in
            let box = try stage.system("Box", services: [Loopback.echo])
            try await stage.appears(box)
            let request = try await stage.request(to: box)
            box.link.cut(at: .request())
            let description = AppServiceDescription(name: "test.echo")
            let response = try await AppServiceConnection.sendStateless([:], to: description, request: request)
            #expect(response.error?.code == .connectionLost)
            #expect(response.error?.canRetry == true)
        }
    }

    @Test func `waiting for the end of a connection that was never opened is misuse`() async throws {
        let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
        let error = await #expect(throws: RemoteSystemError.self) { try await connection.waitUntilClosed() }
        #expect(error?.code == .misuse)
        await connection.close()
        #expect(try await connection.waitUntilClosed() == .completed)
    }
}
