// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// What a handler made of a request.
struct HandlerOutcome: Sendable {
    /// The response that the caller receives unless an interceptor replaces it.
    var response: Response
    /// What the handler threw, for the interceptors around it.
    var error: (any Error)?
    /// Whether the caller is not told what the error was.
    var isUnexplained = false
    /// Of a request with a key: which execution of it this is the outcome of.
    var execution: UInt64?
    /// Whether it is the outcome of an earlier request with the same key.
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

    /// The outcome of a handler, whose message and response are held to their rules.
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

    /// For an interceptor.
    ///
    /// - Throws: what the handler threw; ``AppServiceFailure`` for every other failure, with what the caller would be
    ///   told.
    func get() throws -> AppServiceServerResponse {
        guard self.response.status != .success else { return AppServiceServerResponse(message: self.response.message) }
        throw self.error ?? AppServiceFailure(self.response)
    }
}
