// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport
internal import ValueSets

extension AppServiceRequest {
    init(
        _ request: IncomingRequest,
        over wire: Connection,
        caller: AppServiceCaller,
        connection: AppServiceConnection
    ) {
        self.init(
            message: request.message,
            caller: caller,
            deadline: wire.instant(of: request.deadline),
            idempotencyKey: request.key.flatMap { IdempotencyKey($0) },
            connection: connection
        )
    }
}

extension Reply {
    /// What a handler makes of a request, as it goes on the wire. Whatever the handler throws becomes an answer.
    static func from(
        _ request: AppServiceRequest,
        checking schema: AllowedValueSchema,
        responseSchema: AllowedValueSchema,
        _ handler: (AppServiceRequest) async throws -> ValueSet
    ) async -> Reply {
        do {
            try schema.validate(request.message)
        } catch {
            return Reply(status: .failure, failure: WireFailure("The message is not allowed here: \(error)"))
        }
        let answer: ValueSet
        do {
            answer = try await handler(request)
        } catch let failure as AppServiceFailure {
            return Reply(
                status: ResponseStatus(rawValue: UInt64(clamping: failure.status.rawValue)),
                failure: WireFailure(failure.message, canRetry: failure.canRetry)
            )
        } catch is CancellationError {
            return Reply(status: .failure, failure: WireFailure("The request was cancelled.", canRetry: true))
        } catch {
            return Reply(status: .failure, failure: WireFailure("The service failed to handle the request."))
        }
        do {
            try responseSchema.validate(answer)
        } catch {
            return Reply(status: .failure, failure: WireFailure("The service's answer is not allowed: \(error)"))
        }
        return Reply(message: answer)
    }
}
