// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The result of a launch.
public struct RemoteLaunchURIResult: Sendable {
    /// Which of the two URIs was opened.
    public enum Opened: String, Sendable, Hashable, Codable {
        /// The requested URI.
        case uri
        /// The fallback, because the requested URI could not be opened.
        case fallback
    }

    /// The status of the launch.
    public var status: RemoteLaunchURIStatus
    /// Which URI was opened; `nil` unless the status is ``RemoteLaunchURIStatus/success``.
    public var opened: Opened?
    /// The id of the application that opened the URI or refused it, if known. It may have another form than an
    /// application id, such as the name of a desktop entry.
    public var applicationID: String?
    /// The error, on which side it occurred, and whether a retry can help; `nil` on success.
    ///
    /// With ``RemoteLaunchURIStatus/unknown``, or a status that this version does not know,
    /// ``RemoteSystemError/outcome`` states whether the URI may nevertheless have been opened. With every other status
    /// except ``RemoteLaunchURIStatus/success`` nothing was opened.
    public var error: RemoteSystemError?

    /// Creates a result.
    public init(
        status: RemoteLaunchURIStatus,
        opened: Opened? = nil,
        applicationID: String? = nil,
        error: RemoteSystemError? = nil
    ) {
        self.status = status
        self.opened = opened
        self.applicationID = applicationID
        self.error = error
    }

    /// Returns which URI was opened.
    ///
    /// - Throws: ``RemoteSystemError`` when none was opened, or when that is unknown.
    @discardableResult
    public func get() throws(RemoteSystemError) -> Opened {
        if self.status == .success { return self.opened ?? .uri }
        throw self.error
            ?? RemoteSystemError(
                .refused,
                "The URI was not opened (\(self.status)).",
                side: .remote,
                outcome: self.status.saysNothingWasOpened ? .notExecuted : .unknown
            )
    }
}
