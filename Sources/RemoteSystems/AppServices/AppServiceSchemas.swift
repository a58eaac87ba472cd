// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// What is known of a service's messages; `nil` where it is not said.
struct AppServiceSchemas: Sendable, Hashable {
    /// What the caller's requests must look like.
    var request: AllowedValueSchema?
    /// What the service's responses look like.
    var response: AllowedValueSchema?
    /// What requests of the service to its caller look like.
    var pushRequest: AllowedValueSchema?
    /// What the caller's responses to those must look like.
    var pushResponse: AllowedValueSchema?
}

extension AppServiceSchemas {
    /// The schemas as they go on the wire.
    var published: PublishedSchemas {
        PublishedSchemas(
            request: self.request?.valueSet,
            response: self.response?.valueSet,
            pushRequest: self.pushRequest?.valueSet,
            pushResponse: self.pushResponse?.valueSet
        )
    }

    /// Schemas from the wire. One that cannot be read allows every message: the peer checks in any case.
    init(_ published: PublishedSchemas) {
        func schema(_ set: ValueSet?) -> AllowedValueSchema? {
            set.map { (try? AllowedValueSchema($0)) ?? .full }
        }
        self.request = schema(published.request)
        self.response = schema(published.response)
        self.pushRequest = schema(published.pushRequest)
        self.pushResponse = schema(published.pushResponse)
    }

    /// With what others say where these schemas say nothing, or allow every message: such a schema may stand for one
    /// that was too large.
    func completed(by others: AppServiceSchemas?) -> AppServiceSchemas {
        func schema(_ path: KeyPath<AppServiceSchemas, AllowedValueSchema?>) -> AllowedValueSchema? {
            switch self[keyPath: path] {
            case nil: others?[keyPath: path]
            case AllowedValueSchema.full: others?[keyPath: path] ?? .full
            case let own: own
            }
        }
        return AppServiceSchemas(
            request: schema(\.request),
            response: schema(\.response),
            pushRequest: schema(\.pushRequest),
            pushResponse: schema(\.pushResponse)
        )
    }
}

extension AppService {
    var schemas: AppServiceSchemas {
        AppServiceSchemas(
            request: self.requestSchema,
            response: self.responseSchema,
            pushRequest: self.options.pushRequestSchema,
            pushResponse: self.options.pushResponseSchema
        )
    }
}

extension AppServiceDescription {
    var schemas: AppServiceSchemas {
        AppServiceSchemas(
            request: self.requestSchema,
            response: self.responseSchema,
            pushRequest: self.pushRequestSchema,
            pushResponse: self.pushResponseSchema
        )
    }
}

extension RemoteSystemApplication.Service {
    var schemas: AppServiceSchemas {
        AppServiceSchemas(
            request: self.requestSchema,
            response: self.responseSchema,
            pushRequest: self.pushRequestSchema,
            pushResponse: self.pushResponseSchema
        )
    }
}

/// What messages of one kind must satisfy on one connection: the schema that the service publishes, and the one that
/// this program's description of the service declares. ``AllowedValueSchema/appService`` if there is neither.
///
/// A class, so that handing it on for each message retains one reference.
final class MessageRule: Sendable {
    private let schema: AllowedValueSchema
    /// A second schema; rare, so that most messages are checked once.
    private let declared: AllowedValueSchema?

    init(published: AllowedValueSchema?, declared: AllowedValueSchema? = nil) {
        self.schema = published ?? declared ?? .appService
        self.declared = published == nil || published == declared ? nil : declared
    }

    @inline(__always)
    func check(_ message: ValueSet) throws(ValueSetError) {
        try self.schema.validate(message)
        if let declared { try declared.validate(message) }
    }
}

/// What every kind of message must satisfy on one connection.
final class MessageRules: Sendable {
    let request: MessageRule
    let response: MessageRule
    let pushRequest: MessageRule
    let pushResponse: MessageRule

    init(published: AppServiceSchemas, declared: AppServiceSchemas = AppServiceSchemas()) {
        self.request = MessageRule(published: published.request, declared: declared.request)
        self.response = MessageRule(published: published.response, declared: declared.response)
        self.pushRequest = MessageRule(published: published.pushRequest, declared: declared.pushRequest)
        self.pushResponse = MessageRule(published: published.pushResponse, declared: declared.pushResponse)
    }
}
