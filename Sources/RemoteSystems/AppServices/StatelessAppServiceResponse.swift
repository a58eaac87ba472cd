// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// The result of ``AppServiceConnection/sendStateless(_:to:request:timeout:idempotencyKey:metadata:)``. Check the
/// status before the message.
public struct StatelessAppServiceResponse: Sendable {
    /// The outcome of the request.
    public var status: StatelessAppServiceResponseStatus
    /// The service's response; empty unless the status is ``StatelessAppServiceResponseStatus/success``.
    public var message: ValueSet
    /// The failure, with whether a retry may succeed; `nil` on success.
    public var error: RemoteSystemError?

    /// Creates a response, for a test.
    ///
    /// - Parameters:
    ///   - status: how the request ended.
    ///   - message: the service's response. Defaults to an empty one.
    ///   - error: the failure. Defaults to `nil`.
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
    /// - Throws: ``error`` for every other status. If ``error`` is `nil`, a ``RemoteSystemError`` with
    ///   ``RemoteSystemError/Code/serviceFailed``.
    public func get() throws(RemoteSystemError) -> ValueSet {
        guard self.status == .success else { throw self.error ?? .serviceFailed("\(self.status)") }
        return self.message
    }
}
