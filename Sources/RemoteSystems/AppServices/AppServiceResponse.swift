// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// The result of a request to an app service. Check the status before the message.
public struct AppServiceResponse: Sendable {
    /// The outcome of the request.
    public var status: AppServiceResponseStatus
    /// The service's response; empty unless the status is ``AppServiceResponseStatus/success``.
    public var message: ValueSet
    /// The failure, with whether a retry may succeed; `nil` on success.
    public var error: RemoteSystemError?

    /// Creates a response, for an interceptor that responds itself or for a test.
    ///
    /// - Parameters:
    ///   - status: how the request ended.
    ///   - message: the service's response. Defaults to an empty one.
    ///   - error: the failure. Defaults to `nil`.
    public init(status: AppServiceResponseStatus, message: ValueSet = [:], error: RemoteSystemError? = nil) {
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

extension RemoteSystemError {
    /// The error of a response that was created without one.
    static func serviceFailed(_ status: String) -> RemoteSystemError {
        RemoteSystemError(.serviceFailed, "The service failed (\(status)).", side: .remote, outcome: .failed)
    }
}
