// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// What became of a message that was sent without a connection. Look at the status first, then at the message.
public struct StatelessAppServiceResponse: Sendable {
    /// How it ended.
    public var status: StatelessAppServiceResponseStatus
    /// What the service answered; empty unless the status is ``StatelessAppServiceResponseStatus/success``.
    public var message: ValueSet
    /// What went wrong, which side it was, and whether trying again can help; `nil` on success.
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

    /// The message, if the service answered.
    ///
    /// - Throws: ``RemoteSystemError`` for every other status.
    public func get() throws(RemoteSystemError) -> ValueSet {
        guard self.status == .success else { throw self.error ?? .serviceFailed("\(self.status)") }
        return self.message
    }
}
