// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// The schemas of a service's messages; `nil` where none is known.
struct AppServiceSchemas: Sendable, Hashable {
    /// The schema of the caller's requests.
    var request: AllowedValueSchema?
    /// The schema of the service's responses.
    var response: AllowedValueSchema?
    /// The schema of requests that the service sends to its caller.
    var pushRequest: AllowedValueSchema?
    /// The schema of the caller's responses to the service's requests.
    var pushResponse: AllowedValueSchema?
}

extension AppServiceSchemas {
    /// The schemas in their wire form.
    var published: PublishedSchemas {
        PublishedSchemas(
            request: self.request?.valueSet,
            response: self.response?.valueSet,
            pushRequest: self.pushRequest?.valueSet,
            pushResponse: self.pushResponse?.valueSet
        )
    }

    /// Creates schemas from their wire form. An unreadable schema becomes one that allows every message: the peer
    /// checks anyway.
    init(_ published: PublishedSchemas) {
        func schema(_ set: ValueSet?) -> AllowedValueSchema? {
            set.map { (try? AllowedValueSchema($0)) ?? .full }
        }
        self.request = schema(published.request)
        self.response = schema(published.response)
        self.pushRequest = schema(published.pushRequest)
        self.pushResponse = schema(published.pushResponse)
    }

    /// Returns these schemas, with those of `others` where one is missing or allows every message. A host may send a
    /// schema that allows every message in place of one that was too large for the handshake.
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

/// The rule for one kind of message on one connection: the schema that the service publishes, and the one that this
/// program's description declares. ``AllowedValueSchema/appService`` if there is neither.
///
/// A class, so that passing it on for each message retains one reference.
final class MessageRule: Sendable {
    private let schema: AllowedValueSchema
    /// The schema of this program's description; `nil` if it declares none. Most descriptions declare none, so that
    /// most messages are checked once.
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

/// The rules for all kinds of messages on one connection.
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
