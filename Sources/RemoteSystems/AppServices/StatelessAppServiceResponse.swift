// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// The result of a message that was sent without a lasting connection. Check the status before the message.
public struct StatelessAppServiceResponse: Sendable {
    /// How the request ended.
    public var status: StatelessAppServiceResponseStatus
    /// The service's response; empty unless the status is ``StatelessAppServiceResponseStatus/success``.
    public var message: ValueSet
    /// The failure; `nil` on success.
    public var error: RemoteSystemError?

    /// Creates a response.
    public init(
        status: StatelessAppServiceResponseStatus,
        message: ValueSet = [:],
        error: RemoteSystemError? = nil
    ) {
        self.status = status
        self.message = message
        self.error = error
    }

    /// Returns the message of a successful response.
    ///
    /// - Throws: ``RemoteSystemError`` for every other status.
    public func get() throws(RemoteSystemError) -> ValueSet {
        guard self.status == .success else { throw self.error ?? .serviceFailed("\(self.status)") }
        return self.message
    }
}
