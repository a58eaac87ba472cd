// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystems

/// Logs every request with its outcome and duration, but not its content.
struct RequestLog: AppServiceServerInterceptor {
    let logger: Logger

    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse {
        let start = ContinuousClock.now
        func log(_ outcome: String) {
            let duration = ContinuousClock.now - start
            self.logger.info(
                "\(context.service) \(outcome)",
                metadata: ["caller": "\(request.caller.systemID.short)", "duration": "\(duration)"]
            )
        }
        do {
            let response = try await next(request)
            log("answered")
            return response
        } catch {
            log("failed: \(error)")
            throw error
        }
    }
}

/// Allows local programs to call a service, and programs on other machines only with the right key.
struct KeyCheck: AppServiceServerInterceptor {
    let key: String

    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse {
        guard request.caller.isLocal || request.metadata["key"] == self.key else {
            throw AppServiceFailure("\(context.service) requires the key.")
        }
        return try await next(request)
    }
}
