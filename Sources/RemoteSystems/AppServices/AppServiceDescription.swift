// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Names an app service: the service, and the application that offers it.
///
/// The service publishes what its messages look like, so that a description needs no schemas. One that has some is
/// stricter: requests, responses, and requests in the other direction must satisfy both the schema that the service
/// publishes and the description's. Where there is neither, ``AllowedValueSchema/appService`` holds. A request
/// that does not satisfy them is not sent (``RemoteSystemError/Code/invalidMessage``, on the
/// ``RemoteSystemError/Side/local`` side); a response that does not is not handed on
/// (``RemoteSystemError/Code/protocolViolation``, on the ``RemoteSystemError/Side/remote`` side).
public struct AppServiceDescription: Sendable, Hashable {
    /// The service's name, in reverse-DNS form (`com.example.ping`): 1 to 256 bytes of UTF-8 without control, invisible
    /// or line-breaking characters.
    public var name: String
    /// The application that is to answer; `nil` for any on the system that offers the service.
    public var applicationID: String?
    /// What requests must look like, beside what the service publishes; `nil`, the default, adds nothing.
    public var requestSchema: AllowedValueSchema?
    /// What responses must look like, beside what the service publishes; `nil`, the default, adds nothing.
    public var responseSchema: AllowedValueSchema?
    /// What the service's own requests must look like, beside what the service publishes; `nil`, the default, adds
    /// nothing.
    public var pushRequestSchema: AllowedValueSchema?
    /// What this program's responses to those must look like, beside what the service publishes; `nil`, the default,
    /// adds nothing.
    public var pushResponseSchema: AllowedValueSchema?

    /// A description of the service with this name.
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
