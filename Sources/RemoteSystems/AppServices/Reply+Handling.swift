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
    ///
    /// - Parameter noteUnknown: is told of an error that nobody explains to the caller.
    static func from(
        _ request: AppServiceRequest,
        checking schema: AllowedValueSchema,
        responseSchema: AllowedValueSchema,
        onUnknownError noteUnknown: (any Error) -> Void = { _ in },
        _ handler: (AppServiceRequest) async throws -> ValueSet
    ) async -> Reply {
        if let objection = Reply(objectingTo: request.message, schema) { return objection }
        do {
            return Reply(try await handler(request), responseSchema)
        } catch {
            return Reply(error, onUnknownError: noteUnknown)
        }
    }

    /// The same of a handler that awaits nothing.
    static func from(
        _ request: AppServiceRequest,
        checking schema: AllowedValueSchema,
        responseSchema: AllowedValueSchema,
        onUnknownError noteUnknown: (any Error) -> Void,
        _ handler: (AppServiceRequest) throws -> ValueSet
    ) -> Reply {
        if let objection = Reply(objectingTo: request.message, schema) { return objection }
        do {
            return Reply(try handler(request), responseSchema)
        } catch {
            return Reply(error, onUnknownError: noteUnknown)
        }
    }

    /// `nil` for a message that the schema allows.
    private init?(objectingTo message: ValueSet, _ schema: AllowedValueSchema) {
        do {
            try schema.validate(message)
            return nil
        } catch {
            self.init(status: .failure, failure: WireFailure("The message is not allowed here: \(error)"))
        }
    }

    private init(_ answer: ValueSet, _ schema: AllowedValueSchema) {
        do {
            try schema.validate(answer)
            self.init(message: answer)
        } catch {
            self.init(status: .failure, failure: WireFailure("The service's answer is not allowed: \(error)"))
        }
    }

    private init(_ error: any Error, onUnknownError noteUnknown: (any Error) -> Void) {
        switch error {
        case let failure as AppServiceFailure:
            self.init(
                status: ResponseStatus(rawValue: UInt64(clamping: failure.status.rawValue)),
                failure: WireFailure(failure.message, canRetry: failure.canRetry)
            )
        case is CancellationError:
            self.init(status: .failure, failure: WireFailure("The request was cancelled.", canRetry: true))
        default:
            noteUnknown(error)
            self.init(status: .failure, failure: WireFailure("The service failed to handle the request."))
        }
    }
}
