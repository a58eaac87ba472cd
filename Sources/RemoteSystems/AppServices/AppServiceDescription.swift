// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// Names an app service: the service, and the application that offers it.
public struct AppServiceDescription: Sendable, Hashable {
    /// The service's name, in reverse-DNS form (`com.example.ping`): 1 to 256 bytes of UTF-8 without control, invisible or
    /// line-breaking characters.
    public var name: String
    /// The application that is to answer; `nil` for any on the system that offers the service.
    public var applicationID: String?
    /// What messages and answers may contain, unless the service itself says. ``AllowedValueSchema/appService``
    /// unless set.
    public var schema: AllowedValueSchema

    /// A description of the service with this name.
    public init(name: String, applicationID: String? = nil, schema: AllowedValueSchema = .appService) {
        self.name = name
        self.applicationID = applicationID
        self.schema = schema
    }
}
