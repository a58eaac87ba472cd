// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing

/// Handlers called directly, with the public API alone, as a user of the SDK tests them.
@Suite struct HandlerTests {
    /// A service with restrictions of its own.
    static let volume = AppService("com.example.volume", options: .init(callers: .anyoneNearby)) { request in
        guard request.caller.authorizationKind == .sameUser else {
            throw AppServiceFailure("Guests may listen, and no more.")
        }
        guard request.caller.claimedApplicationID != "com.example.radio" else {
            throw AppServiceFailure("The radio is loud enough.", canRetry: true)
        }
        return ["Volume": .double(min(max(request.message["Volume"]?.double ?? 0.5, 0), 1))]
    }

    struct Opener: LaunchURIProvider {
        let supportedURISchemes = ["player"]

        func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision {
            guard request.caller.isLocal || request.inputData?["pin"] == "1234" else {
                return .denied("A PIN is needed.")
            }
            return request.uri.description.hasSuffix("/42") ? .opened(by: "com.example.player") : .unavailable("Gone.")
        }
    }

    @Test func `a service's handler is called without a host`() async throws {
        let response = try await Self.volume.respond(to: .staged(["Volume": 7.0]))
        #expect(response["Volume"] == 1.0)
        let radio = AppServiceRequest.staged(from: .staged(applicationID: "com.example.radio"))
        await #expect(throws: AppServiceFailure("The radio is loud enough.", canRetry: true)) {
            try await Self.volume.respond(to: radio)
        }
        let entry = AppServiceRequest.staged(from: .staged(authorizationKind: .anonymous))
        await #expect(throws: AppServiceFailure.self) { try await Self.volume.respond(to: entry) }
    }

    @Test func `the service's schemas apply without a host, too`() async throws {
        let wrong = AppService("com.example.wrong", responseSchema: .appService) { _ in ["Data": .data(Data([1]))] }
        let cases: [(AppService, ValueSet)] = [(Self.volume, ["Data": .data(Data([1]))]), (wrong, [:])]
        for (service, message) in cases {
            let error = await #expect(throws: RemoteSystemError.self) {
                try await service.respond(to: .staged(message))
            }
            #expect(error?.code == .invalidMessage)
        }
    }

    @Test func `a staged request has the given properties, and always a caller and a deadline`() async throws {
        let key = IdempotencyKey("order 1")
        let request = AppServiceRequest.staged(["n": 1], timeout: .seconds(60), idempotencyKey: key)
        #expect(request.message == ["n": 1])
        #expect(request.idempotencyKey == key)
        #expect(request.deadline > .now + .seconds(50))
        #expect(request.caller.accountID == AppServiceCaller.staged().accountID)
        #expect(request.caller.systemID != AppServiceCaller.staged().systemID)
        #expect(AppServiceCaller.staged(authorizationKind: .anonymous).accountID == nil)
        let error = await #expect(throws: RemoteSystemError.self) { try await request.connection.send([:]) }
        #expect(error?.code == .misuse)
    }

    @Test func `a launch provider is called without a host`() async throws {
        let opener = Opener()
        let denied = try await opener.launchURI(.staged("player:album/42"))
        #expect(denied.status == .deniedByRemoteSystem)
        #expect(denied.reason == "A PIN is needed.")
        let opened = try await opener.launchURI(.staged("player:album/42", inputData: ["pin": "1234"]))
        #expect(opened == .opened(by: "com.example.player"))
        #expect(opened.status == .success && opened.reason == nil)
        let gone = try await opener.launchURI(.staged("player:album/1", from: .staged(isLocal: true)))
        #expect(gone.status == .appUnavailable)
        #expect(throws: RemoteSystemError.self) { _ = try LaunchURIRequest.staged("no URI") }
    }

    // MARK: On a stage

    @Test func `an application of a stage opens URIs, by the stage's clock`() async throws {
        try await DiscoveryStage.with { stage in
            let clock = stage.clock
            let provider = LaunchURIHandler(schemes: ["player"]) { request in
                #expect(request.deadline == clock.now + .seconds(7))
                return .opened
            }
            let application = StagedApplication("com.example.player", launchURIProvider: provider)
            let system = try stage.system("Living room", applications: [application])
            try await stage.appears(system)
            let request = RemoteSystemConnectionRequest(
                host: system.address,
                port: try await system.port(),
                configuration: stage.configuration
            )
            try await stage.advance(by: .seconds(3600))
            let result = try await RemoteLauncher().launchURI("player:it", with: request, timeout: .seconds(7))
            #expect(result.status == .success)
            #expect(result.applicationID == "com.example.player")
        }
    }

    @Test func `a service's options about its callers apply on a stage`() async throws {
        try await DiscoveryStage.with { stage in
            let services = [
                AppService("test.local", options: .init(supportsRemote: false)) { $0.message },
                AppService("test.friends", options: .init(callers: .applications(["test.friend"]))) { $0.message },
            ]
            let system = try stage.system("Box", services: services)
            try await stage.appears(system)
            for (service, application, status) in [
                ("test.local", "test.friend", AppServiceConnectionStatus.remoteSystemNotSupportedByApp),
                ("test.friends", "test.foe", .remoteSystemNotSupportedByApp), ("test.friends", "test.friend", .success),
            ] {
                let request = RemoteSystemConnectionRequest(
                    host: system.address,
                    port: try await system.port(),
                    configuration: stage.configuration(applicationID: application)
                )
                let connection = AppServiceConnection(to: AppServiceDescription(name: service))
                #expect(try await connection.open(request) == status)
            }
        }
    }

    @Test func `systems of other accounts see each other on a stage only if both sides allow it (X-31)`() async throws {
        try await DiscoveryStage.with { stage in
            let ours = stage.watcher()
            let curious = stage.watcher(filters: [.authorizationKind(.anonymous)])
            let strangers = RemoteSystemWatcher(
                stage.configuration(applicationID: "test.guest", account: .other),
                filters: [.authorizationKind(.anonymous)]
            )
            for watcher in [ours, curious, strangers] { try await watcher.start() }
            let open = StagedApplication("test.open", services: [Self.volume], allowsAnyoneNearby: true)
            try await stage.appears(try stage.system("Theirs", account: .other, applications: [open]))
            try await stage.appears(try stage.system("Theirs, closed", account: .other, services: [Self.volume]))
            try await stage.appears(try stage.system("Ours", applications: [open]))
            try await stage.appears(try stage.system("Ours, closed", services: [Self.volume]))
            try await stage.advance(by: .seconds(2))
            #expect(ours.systems.map(\.displayName).sorted() == ["Ours", "Ours, closed"])
            #expect(curious.systems.map(\.displayName) == ["Theirs"])
            #expect(strangers.systems.map(\.displayName) == ["Ours"])
            let application = try #require(strangers.systems.first?.application("test.open"))
            let response = try await application.withAppService("com.example.volume") { try await $0.send([:]) }
            #expect(response.error?.message == "Guests may listen, and no more.")
        }
    }

    @Test func `an interceptor of a client can be tested directly`() async throws {
        struct Marking: AppServiceClientInterceptor {
            func intercept(
                _ request: AppServiceClientRequest,
                context: AppServiceClientContext,
                next: AppServiceClientNext
            ) async throws -> AppServiceResponse {
                var request = request
                request.metadata["to"] = "\(context.service) \(context.connection.address) \(context.isPush)"
                return try await next(request)
            }
        }
        let next = AppServiceClientNext { request in
            AppServiceResponse(status: .success, message: ["to": .string(request.metadata["to"] ?? "")])
        }
        let request = AppServiceClientRequest(message: [:])
        let plain = try await Marking().intercept(request, context: .staged(), next: next)
        #expect(plain.message == ["to": "test.service 192.0.2.1 false"])
        let info = RemoteSystemConnectionInfo.staged(peer: .staged(isLocal: true), address: "::1")
        #expect(info.peer.isLocal && info.isProximal)
        let context = AppServiceClientContext.staged(service: "test.push", connection: info, isPush: true)
        let pushed = try await Marking().intercept(request, context: context, next: next)
        #expect(pushed.message == ["to": "test.push ::1 true"])
    }
}
