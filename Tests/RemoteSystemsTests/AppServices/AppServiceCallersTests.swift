// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// Which callers may use a service (issue 3; status 6).
@Suite struct AppServiceCallersTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var callers = AppServiceCallers.account
        var supportsRemote = true
        var application = "test.caller"
        var isLocal = false
        var isAllowed: Bool

        var testDescription: String {
            "\(self.callers) remote:\(self.supportsRemote) from \(self.application) local:\(self.isLocal)"
        }
    }

    @Test(arguments: [
        Case(isAllowed: true),
        Case(isLocal: true, isAllowed: true),
        Case(supportsRemote: false, isAllowed: false),
        Case(supportsRemote: false, isLocal: true, isAllowed: true),
        Case(callers: .sameApplication, isAllowed: false),
        Case(callers: .sameApplication, isLocal: true, isAllowed: false),
        Case(callers: .sameApplication, application: "test.host", isAllowed: true),
        Case(callers: .sameApplication, supportsRemote: false, application: "test.host", isAllowed: false),
        Case(callers: .applications(["test.caller", "test.x"]), isAllowed: true),
        Case(callers: .applications(["test.x"]), isAllowed: false),
        Case(callers: .applications([]), isLocal: true, isAllowed: false),
        Case(callers: .applications(["test.x"]), application: "", isAllowed: false),
        Case(callers: .anyoneNearby, isAllowed: true),
    ])
    func `a service accepts exactly the callers that it allows`(example: Case) throws {
        let service = AppService(
            "test.service",
            options: .init(callers: example.callers, supportsRemote: example.supportsRemote)
        ) { $0.message }
        let subject = try AuthorisationTests.subject(
            .sameAccount(try #require(AuthorisationTests.account)),
            isLocal: example.isLocal,
            application: example.application
        )
        let authorisation = Authorisation(host: "test.host", allowsAnyoneNearby: false)
        let target = Authorisation.Target.service(service.name, .init(service, of: "test.host"))
        var refusal: Refusal?
        if case .refused(let reason) = authorisation.decide(subject, target) {
            refusal = authorisation.refusal(of: subject, target, for: reason)
        }
        #expect((refusal == nil) == example.isAllowed)
        if let refusal {
            #expect(refusal.status == .remoteSystemNotSupportedByApp)
            #expect(refusal.failure.text.contains("test.service"))
            #expect(!refusal.failure.canRetry)
        }
    }

    @Test func `a refused caller never reaches the service`() async throws {
        struct Provider: AppServiceProvider {
            let seen: @Sendable () -> Void
            func respond(to request: AppServiceRequest) async throws -> ValueSet { request.message }
            func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) { self.seen() }
        }
        let seen = Mutex(0)
        let service = AppService(
            "test.echo",
            options: .init(callers: .applications(["test.friend"])),
            provider: Provider { seen.withLock { $0 += 1 } }
        )
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([service]) { host in
                let (refused, status) = try await Loopback.connect(loopbackSystem, host)
                #expect(status == .remoteSystemNotSupportedByApp)
                #expect(refused.openError?.message.contains("test.caller") == true)
                #expect(seen.withLock { $0 } == 0)
                let (friend, welcome) = try await Loopback.connect(
                    loopbackSystem,
                    host,
                    configuration: loopbackSystem.configuration("test.friend")
                )
                #expect(welcome == .success)
                // The host notifies the service of a connection just after it has accepted it.
                try await until { seen.withLock { $0 } == 1 }
                #expect(seen.withLock { $0 } == 1)
                await friend.close()
            }
        }
    }

    @Test func `version, summary, schemas and visibility to other systems are reported to watchers`() async throws {
        let schema = AllowedValueSchema(fields: [.required("Volume", .number)])
        let service = AppService(
            "test.volume",
            requestSchema: schema,
            options: .init(version: "2.1", summary: "Sets the volume.", supportsRemote: false)
        ) { $0.message }
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            try await loopbackSystem.withHost([service]) { _ in
                let reported = try await recorder.added().application("test.host")?.services.first
                #expect(reported?.name == "test.volume")
                #expect(reported?.version == "2.1")
                #expect(reported?.summary == "Sets the volume.")
                #expect(reported?.requestSchema == schema)
                #expect(reported?.responseSchema == .appService)
                #expect(reported?.supportsRemote == false)
            }
            await watcher.stop()
        }
    }

    @Test func `a service whose description is too long is refused, with a visible error`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            for options in [
                AppService.Options(version: ""), AppService.Options(summary: String(repeating: "x", count: 1025)),
            ] {
                let host = RemoteSystemHost(
                    loopbackSystem.configuration("test.host"),
                    services: [AppService("test.echo", options: options) { $0.message }]
                )
                let error = await #expect(throws: RemoteSystemError.self) { try await host.run() }
                #expect(error?.code == .invalidArgument)
            }
        }
    }

    @Test func `a schema too large for the handshake refuses no caller, and watchers know it all the same`()
        async throws
    {
        // Data is allowed in a message only because the schema says so.
        let names = (0..<400).map { "a-rather-long-name-of-a-field-\($0)" }
        let schema = AllowedValueSchema(fields: names.map { .optional($0, .data) }, basedOn: .full)
        let service = AppService(
            "test.large",
            requestSchema: schema,
            responseSchema: schema,
            options: .init(pushRequestSchema: schema, pushResponseSchema: schema)
        ) { request in
            guard request.message[names[9]] != nil else { return request.message }
            return try await request.connection.send(request.message).get()
        }
        #expect(try schema.valueSet.encoded().count > 8192)
        let message: ValueSet = [names[7]: .data(Data([1, 2]))]
        let pushed: ValueSet = [names[9]: .data(Data([3]))]
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            try await loopbackSystem.withHost([service]) { host in
                // A connection by address does not know the schema: the host validates, and the caller refuses nothing.
                let description = AppServiceDescription(name: "test.large")
                let (connection, status) = try await Loopback.connect(
                    loopbackSystem,
                    host,
                    description,
                    onRequest: { $0.message }
                )
                #expect(status == .success)
                let refused = try await connection.send(["other": 1])
                #expect(refused.status == .failure)
                let answered = try await connection.send(message)
                #expect(answered.message == message)
                let echoed = try await connection.send(pushed)
                #expect(echoed.message == pushed)
                await connection.close()
                // A connection from the system's description knows the schema, so an invalid message is not sent.
                let application = try #require(try await recorder.added().application("test.host"))
                try await application.withAppService("test.large") { connection in
                    let error = await #expect(throws: RemoteSystemError.self) {
                        _ = try await connection.send(["other": 1])
                    }
                    #expect(error?.code == .invalidMessage)
                    let answered = try await connection.send(message)
                    #expect(answered.message == message)
                }
            }
            await watcher.stop()
        }
    }

    @Test func `a schema that cannot be read refuses no caller, and the others still apply`() async throws {
        let strict = AllowedValueSchema(fields: [.required("n", .integer)])
        try await LoopbackSystem.with { loopbackSystem in
            let context = ApplicationContext(loopbackSystem.configuration("test.host"))
            let listener = try await Listener.start(
                host: "127.0.0.1",
                port: 0,
                security: try context.security(),
                limits: context.limits,
                logger: context.logger
            ) { _, _ in
                .accept(
                    EstablishedConnection(
                        acceptance: Acceptance(
                            application: "test.host",
                            limits: context.limits.peerLimits,
                            schemas: PublishedSchemas(request: ["fields": "all"], response: strict.valueSet)
                        ),
                        limits: context.limits,
                        handler: { request, _ in Response(message: request.message) },
                        opened: { _ in }
                    )
                )
            }
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.echo"))
            let status = try await connection.open(
                RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: listener.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
            )
            #expect(status == .success)
            // Any request is accepted, and the responses that the readable schema allows.
            let message: ValueSet = ["n": 1, "data": .data(Data([1]))]
            let refused = try? await connection.send(message)
            #expect(refused?.error?.code == .protocolViolation)
            let answered = try await connection.send(["n": 1])
            #expect(answered.status == .success)
            await connection.close()
            await listener.stop()
        }
    }
}
