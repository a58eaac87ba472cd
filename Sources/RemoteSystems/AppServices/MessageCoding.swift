// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

extension ValueSet {
    /// Encodes a message of the caller's own type.
    init(sending message: some Encodable) throws(RemoteSystemError) {
        do {
            self = try ValueSetEncoder().encode(message)
        } catch {
            let reason = ValueSetError(coding: error).map { ": \($0)" } ?? "."
            throw RemoteSystemError(
                .invalidMessage,
                "The message cannot be encoded\(reason) Nothing was sent.",
                side: .local,
                cause: error
            )
        }
    }

    /// Decodes a response as the caller's own type.
    func response<Response: Decodable>(as type: Response.Type = Response.self) throws(RemoteSystemError) -> Response {
        do {
            return try ValueSetDecoder().decode(Response.self, from: self)
        } catch {
            let reason = ValueSetError(coding: error).map { ": \($0)" } ?? "."
            throw RemoteSystemError(
                .protocolViolation,
                "The response cannot be decoded as \(Response.self)\(reason)",
                side: .remote,
                outcome: .unknown,
                cause: error
            )
        }
    }
}

extension AppServiceRequest {
    /// Decodes the message as a value of your own type.
    ///
    /// - Parameter type: the type to decode. Inferred from the context by default.
    /// - Returns: the decoded value.
    /// - Throws: ``AppServiceFailure`` that names the missing key, or the key whose value has another type. A handler
    ///   that rethrows the failure sends this reason to the caller.
    public func message<Message: Decodable>(
        as type: Message.Type = Message.self
    ) throws(AppServiceFailure) -> Message {
        do {
            return try ValueSetDecoder().decode(type, from: self.message)
        } catch {
            let reason = ValueSetError(coding: error).map { ": \($0)" } ?? "."
            throw AppServiceFailure("The message does not have the form that the service expects\(reason)")
        }
    }
}

extension AppServiceResponse {
    /// Decodes the service's message as a value of your own type.
    ///
    /// - Parameter type: the type to decode. Inferred from the context by default.
    /// - Returns: the decoded value.
    /// - Throws: ``error`` for every status except success; ``RemoteSystemError`` with
    ///   ``RemoteSystemError/Code/protocolViolation`` when the message cannot be decoded.
    public func message<Message: Decodable>(
        as type: Message.Type = Message.self
    ) throws(RemoteSystemError) -> Message {
        try self.get().response(as: type)
    }
}
