// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystems
import RemoteSystemsTracing

// Authorising requests.
// snippet.authorise
struct TokenCheck: AppServiceServerInterceptor {
    let isValid: @Sendable (_ token: String, _ caller: AppServiceCaller) async -> Bool

    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse {
        guard let token = request.metadata["token"], await self.isValid(token, request.caller) else {
            throw AppServiceFailure("\(context.service) needs a valid token.")
        }
        return try await next(request)
    }
}
// snippet.end

// Adding metadata to requests.
// snippet.add
struct TokenAddition: AppServiceClientInterceptor {
    let token: String

    func intercept(
        _ request: AppServiceClientRequest,
        context: AppServiceClientContext,
        next: AppServiceClientNext
    ) async throws -> AppServiceResponse {
        var request = request
        request.metadata["token"] = self.token
        return try await next(request)
    }
}
// snippet.end

// Logging outcome and duration.
// snippet.log
struct RequestLog: AppServiceServerInterceptor {
    let logger: Logger

    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse {
        let start = ContinuousClock.now
        do {
            let response = try await next(request)
            self.logger.info("\(context.service) responded in \(ContinuousClock.now - start)")
            return response
        } catch {
            self.logger.info("\(context.service) failed in \(ContinuousClock.now - start): \(error)")
            throw error
        }
    }
}
// snippet.end

// Setting interceptors.
// snippet.set
func makeHost(logger: Logger, volume: AppService) -> RemoteSystemHost {
    var configuration = RemoteSystemsConfiguration(applicationID: "com.example.player", logger: logger)
    configuration.interceptors.server = [TracingServerInterceptor(), RequestLog(logger: logger)]
    configuration.interceptors.client = [TracingClientInterceptor()]
    let checked = volume.intercepted(by: TokenCheck { token, _ in token == "1234" })
    return RemoteSystemHost(configuration, services: [checked])
}

func mute(_ player: RemoteSystemApplication) async throws {
    let request = RemoteSystemConnectionRequest(application: player).intercepted(by: TokenAddition(token: "1234"))
    let volume = AppServiceDescription(name: "com.example.volume")
    _ = try await AppServiceConnection.sendStateless(["Volume": 0.0], to: volume, request: request)
}
// snippet.end

// Metadata of a single request.
// snippet.metadata
func list(_ connection: AppServiceConnection) async throws -> ValueSet {
    try await connection.send(["Type": "list"], metadata: ["request-id": "4711"]).get()
}

let echo = AppService("com.example.echo") { request in
    ["RequestID": .string(request.metadata["request-id"] ?? "none")]
}
// snippet.end

// Tracing requests.
// snippet.trace
var configuration = RemoteSystemsConfiguration(applicationID: "com.example.player")
configuration.interceptors.client = [TracingClientInterceptor()]
configuration.interceptors.server = [TracingServerInterceptor()]
// snippet.end
