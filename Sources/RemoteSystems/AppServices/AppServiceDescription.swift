// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// The name of an app service and, optionally, the application that offers it and additional schemas.
///
/// The service publishes schemas of its messages, so a description needs none. Schemas in the description apply in
/// addition: a message must satisfy both the published schema and the description's. Without either,
/// ``AllowedValueSchema/appService`` applies.
///
/// A request that does not satisfy the schemas is not sent (``RemoteSystemError/Code/invalidMessage``, on the
/// ``RemoteSystemError/Side/local`` side). A response that does not satisfy them is not delivered
/// (``RemoteSystemError/Code/protocolViolation``, on the ``RemoteSystemError/Side/remote`` side).
public struct AppServiceDescription: Sendable, Hashable {
    /// The service's name, in reverse-DNS form (`com.example.ping`).
    /// Valid length: 1–256 bytes of UTF-8, without control, invisible or line-breaking characters.
    public var name: String
    /// The id of the application that must respond. Valid length: 1–256 bytes of UTF-8.
    ///
    /// Defaults to `nil`: any application on the system that offers the service.
    public var applicationID: String?
    /// A schema of requests, in addition to the one that the service publishes. Defaults to none.
    public var requestSchema: AllowedValueSchema?
    /// A schema of responses, in addition to the one that the service publishes. Defaults to none.
    public var responseSchema: AllowedValueSchema?
    /// A schema of the requests that the service sends to this program, in addition to the one that the service
    /// publishes. Defaults to none.
    public var pushRequestSchema: AllowedValueSchema?
    /// A schema of this program's responses to requests that the service sends, in addition to the one that the service
    /// publishes. Defaults to none.
    public var pushResponseSchema: AllowedValueSchema?

    /// Creates a description of the service with this name.
    ///
    /// Opening a connection throws ``RemoteSystemError/Code/invalidArgument`` when the name or the application id is
    /// not valid.
    ///
    /// - Parameters:
    ///   - name: the service's name, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8, without control,
    ///     invisible or line-breaking characters.
    ///   - applicationID: the id of the application that must respond. Defaults to `nil`: any application that offers
    ///     the service.
    ///   - requestSchema: a schema of requests, in addition to the one that the service publishes. Defaults to none.
    ///   - responseSchema: a schema of responses, in addition to the one that the service publishes. Defaults to none.
    ///   - pushRequestSchema: a schema of the requests that the service sends, in addition to the one that it
    ///     publishes. Defaults to none.
    ///   - pushResponseSchema: a schema of the responses to requests that the service sends, in addition to the one
    ///     that it publishes. Defaults to none.
    public init(
        name: String,
        applicationID: String? = nil,
        requestSchema: AllowedValueSchema? = nil,
        responseSchema: AllowedValueSchema? = nil,
        pushRequestSchema: AllowedValueSchema? = nil,
        pushResponseSchema: AllowedValueSchema? = nil
    ) {
        self.name = name
        self.applicationID = applicationID
        self.requestSchema = requestSchema
        self.responseSchema = responseSchema
        self.pushRequestSchema = pushRequestSchema
        self.pushResponseSchema = pushResponseSchema
    }
}
