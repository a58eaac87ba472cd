// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport
internal import ValueSets

/// The definition of one kind of request of a built-in service, for the service and its callers
/// (`Docs/decisions/0026-typed-built-in-services.md`).
///
/// ```swift
/// enum Diagnosis {
///     static let service = "remote-systems.diagnosis"
///     static let look = BuiltInMethod<Look, Looked>("look")
/// }
///
/// // In the service:
/// let handler = Diagnosis.look.handler { request, caller in … }
/// // In the caller:
/// let response = try await Diagnosis.look.call(Look(instance: name), over: connection, timeout: .seconds(8))
/// ```
struct BuiltInMethod<Request: BuiltInMessage, Response: BuiltInMessage>: Sendable {
    /// The value of the request's key `Type`.
    let type: String
    /// The schema of requests, derived from `Request`.
    let requestSchema = AllowedValueSchema(decoding: Request.self)
    /// The schema of responses, derived from `Response`.
    let responseSchema = AllowedValueSchema(decoding: Response.self)

    /// - Parameter type: the request's name on the wire. It never changes.
    init(_ type: String) {
        self.type = type
    }

    // MARK: Serving

    /// Creates the handler of the method's requests.
    ///
    /// - Parameter body: returns the response, or throws the failure that the caller receives. It is called for valid
    ///   requests only.
    func handler(
        _ body: @escaping @Sendable (Request, BuiltInCaller) async throws(WireFailure) -> Response
    ) -> BuiltInHandler {
        BuiltInHandler(type: self.type) { message, caller async throws(WireFailure) in
            let request: Request
            do throws(InvalidMessage) {
                request = try self.request(from: message)
            } catch {
                throw WireFailure("The request is not valid. \(error.text)", code: .requestInvalid)
            }
            let response = try await body(request, caller)
            do {
                return try ValueSetEncoder().encode(response)
            } catch {
                throw WireFailure("The response cannot be encoded.", code: .hostFailed)
            }
        }
    }

    // MARK: Calling

    /// Sends a request and returns the response.
    ///
    /// - Throws: ``BuiltInCallError`` when the peer's response is a failure or cannot be read; the errors of
    ///   ``Connection/send(_:timeout:key:metadata:)``; `EncodingError`.
    func call(_ request: Request, over connection: Connection, timeout: TimeAmount) async throws -> Response {
        let response = try await connection.send(try self.message(request), timeout: timeout)
        guard response.status == .success else { throw BuiltInCallError.failed(response.status, response.failure) }
        do throws(InvalidMessage) {
            return try self.response(from: response.message)
        } catch {
            throw BuiltInCallError.responseInvalid(error)
        }
    }

    // MARK: Coding

    /// Encodes a request.
    func message(_ request: Request) throws -> ValueSet {
        var message = try ValueSetEncoder().encode(request)
        message[BuiltInHandler.typeKey] = .string(self.type)
        return message
    }

    /// Checks and decodes a request of this type.
    func request(from message: ValueSet) throws(InvalidMessage) -> Request {
        try Request(checking: message, schema: self.requestSchema)
    }

    /// Checks and decodes a response.
    func response(from message: ValueSet) throws(InvalidMessage) -> Response {
        try Response(checking: message, schema: self.responseSchema)
    }
}
