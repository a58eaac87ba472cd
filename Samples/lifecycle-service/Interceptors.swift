// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystems

/// Logs every request with its outcome and how long it took, without its contents.
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

/// Lets programs on this machine call a service, and refuses others unless they send the right key.
struct KeyCheck: AppServiceServerInterceptor {
    let key: String

    func intercept(
        _ request: AppServiceRequest,
        context: AppServiceServerContext,
        next: AppServiceServerNext
    ) async throws -> AppServiceServerResponse {
        guard request.caller.isLocal || request.metadata["key"] == self.key else {
            throw AppServiceFailure("\(context.service) needs the key.")
        }
        return try await next(request)
    }
}
