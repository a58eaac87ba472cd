// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// The outcome of a handler's run.
struct HandlerOutcome: Sendable {
    /// The response that the caller receives unless an interceptor replaces it.
    var response: Response
    /// The error that the handler threw, for the interceptors around it.
    var error: (any Error)?
    /// Whether the caller learns only that the handler failed, and not the error.
    var isUnexplained = false
    /// The number of the execution, for a request with a key.
    var execution: UInt64?
    /// Whether this is the outcome of an earlier request with the same key.
    var isRepeated = false

    init(_ response: Response) {
        self.response = response
    }

    init(_ error: any Error) {
        var isUnexplained = false
        self.response = Response(error, onUnknownError: { _ in isUnexplained = true })
        self.error = error
        self.isUnexplained = isUnexplained
    }

    /// Runs a handler, and checks its message and response against their rules.
    static func of(
        _ request: AppServiceRequest,
        checking rule: MessageRule,
        responses: MessageRule,
        _ handler: (AppServiceRequest) async throws -> ValueSet
    ) async -> HandlerOutcome {
        if let objection = Response(objectingTo: request.message, rule) { return HandlerOutcome(objection) }
        do {
            return HandlerOutcome(Response(try await handler(request), responses))
        } catch {
            return HandlerOutcome(error)
        }
    }

    /// Returns the response in the form that interceptors receive.
    ///
    /// - Throws: the handler's error; for every other failure an ``AppServiceFailure`` with the text that the caller
    ///   would receive.
    func get() throws -> AppServiceServerResponse {
        guard self.response.status != .success else { return AppServiceServerResponse(message: self.response.message) }
        throw self.error ?? AppServiceFailure(self.response)
    }
}
