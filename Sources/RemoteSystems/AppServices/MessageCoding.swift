// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

extension ValueSet {
    /// What a message of the caller's own type looks like on the wire.
    init(sending message: some Encodable) throws(RemoteSystemError) {
        do {
            self = try ValueSetEncoder().encode(message)
        } catch {
            throw RemoteSystemError(
                .invalidMessage,
                "The message cannot be encoded.",
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
            throw RemoteSystemError(
                .protocolViolation,
                "The answer has another form than \(Response.self). \(error.placeInMessage)",
                side: .remote,
                outcome: .unknown,
                cause: error
            )
        }
    }
}

extension Error {
    /// Where a message differs from the type that it is decoded to, in a sentence without the message's contents.
    var placeInMessage: String {
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty ? "the message" : "'\(path.map(\.stringValue).joined(separator: "."))'"
        }
        switch self as? DecodingError {
        case .keyNotFound(let key, let context): return "The key \(place(context.codingPath + [key])) is missing."
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "At \(place(context.codingPath)): \(context.debugDescription)"
        case .dataCorrupted(let context): return "The value at \(place(context.codingPath)) is not valid."
        default: return ""
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
            throw AppServiceFailure("The message has another form than the service takes. \(error.placeInMessage)")
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
