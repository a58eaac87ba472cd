// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

extension ValueSet {
    /// What a message of the caller's own type looks like on the wire.
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

    /// A response as the caller's own type.
    func response<Response: Decodable>(as type: Response.Type = Response.self) throws(RemoteSystemError) -> Response {
        do {
            return try ValueSetDecoder().decode(Response.self, from: self)
        } catch {
            let reason = ValueSetError(coding: error).map { ": \($0)" } ?? "."
            throw RemoteSystemError(
                .protocolViolation,
                "The response has another form than \(Response.self)\(reason)",
                side: .remote,
                outcome: .unknown,
                cause: error
            )
        }
    }
}

extension AppServiceRequest {
    /// The message as a value of your own type.
    ///
    /// - Parameter type: the type to decode; what the context says unless given.
    /// - Throws: ``AppServiceFailure`` that names the key that is missing or of another type. A handler that throws it
    ///   on tells the caller what is wrong.
    public func message<Message: Decodable>(
        as type: Message.Type = Message.self
    ) throws(AppServiceFailure) -> Message {
        do {
            return try ValueSetDecoder().decode(type, from: self.message)
        } catch {
            let reason = ValueSetError(coding: error).map { ": \($0)" } ?? "."
            throw AppServiceFailure("The message has another form than the service takes\(reason)")
        }
    }
}

extension AppServiceResponse {
    /// The service's message as a value of your own type.
    ///
    /// - Parameter type: the type to decode; what the context says unless given.
    /// - Throws: ``RemoteSystemError`` for every status but success, and when the message has another form.
    public func message<Message: Decodable>(
        as type: Message.Type = Message.self
    ) throws(RemoteSystemError) -> Message {
        try self.get().response(as: type)
    }
}
