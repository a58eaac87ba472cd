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
            metadata: RequestMetadata(received: request.metadata),
            connection: connection
        )
    }
}

extension Response {
    /// Runs a handler and returns its response in wire form. An error that the handler throws becomes a response.
    ///
    /// - Parameter reportUnknown: called with an error whose text the caller does not receive.
    static func from(
        _ request: AppServiceRequest,
        checking rule: MessageRule,
        responses: MessageRule,
        onUnknownError reportUnknown: (any Error) -> Void = { _ in },
        _ handler: (AppServiceRequest) async throws -> ValueSet
    ) async -> Response {
        if let objection = Response(objectingTo: request.message, rule) { return objection }
        do {
            return Response(try await handler(request), responses)
        } catch {
            return Response(error, onUnknownError: reportUnknown)
        }
    }

    /// Runs a handler that awaits nothing and returns its response in wire form. An error that the handler throws
    /// becomes a response.
    ///
    /// - Parameter reportUnknown: called with an error whose text the caller does not receive.
    static func from(
        _ request: AppServiceRequest,
        checking rule: MessageRule,
        responses: MessageRule,
        onUnknownError reportUnknown: (any Error) -> Void,
        _ handler: (AppServiceRequest) throws -> ValueSet
    ) -> Response {
        if let objection = Response(objectingTo: request.message, rule) { return objection }
        do {
            return Response(try handler(request), responses)
        } catch {
            return Response(error, onUnknownError: reportUnknown)
        }
    }

    /// Creates the response to a message that does not satisfy the rule; `nil` for one that does.
    init?(objectingTo message: ValueSet, _ rule: MessageRule) {
        do {
            try rule.check(message)
            return nil
        } catch {
            self.init(
                status: .failure,
                failure: WireFailure("The message is not allowed here: \(error)", code: .messageNotAllowed)
            )
        }
    }

    init(_ response: ValueSet, _ rule: MessageRule) {
        do {
            try rule.check(response)
            self.init(message: response)
        } catch {
            self.init(
                status: .failure,
                failure: WireFailure("The service's response is not allowed: \(error)", code: .responseNotAllowed)
            )
        }
    }

    init(_ error: any Error, onUnknownError reportUnknown: (any Error) -> Void) {
        switch error {
        case let failure as AppServiceFailure:
            // A failure's status must be above 0, the value of success.
            let status = ResponseStatus(failure.status)
            self.init(
                status: status == .success ? .failure : status,
                failure: failure.wireFailure
            )
        case is CancellationError:
            self.init(
                status: .failure,
                failure: WireFailure("The request was cancelled.", code: .cancelled, canRetry: true)
            )
        default:
            reportUnknown(error)
            self.init(
                status: .failure,
                failure: WireFailure("The service failed to handle the request.", code: .handlerFailed)
            )
        }
    }
}
