// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What became of a launch.
public struct RemoteLaunchURIResult: Sendable {
    /// Which of the two URIs was opened.
    public enum Opened: String, Sendable, Hashable, Codable {
        /// The one that was asked for.
        case uri
        /// The one that was to be opened if that one could not be.
        case fallback
    }

    /// How it ended.
    public var status: RemoteLaunchURIStatus
    /// Which URI was opened; `nil` unless the status is ``RemoteLaunchURIStatus/success``.
    public var opened: Opened?
    /// The application over there that opened it, or that said why not, if it is known. Other applications may have
    /// ids of their own kind, such as the name of a desktop entry.
    public var applicationID: String?
    /// What went wrong, on which side, and whether trying again can help; `nil` on success. With
    /// ``RemoteLaunchURIStatus/unknown``, or a number that this version does not know, its ``RemoteSystemError/outcome`` tells
    /// whether it may have been opened all the same; with every other status nothing was.
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

    /// Which URI was opened.
    ///
    /// - Throws: ``RemoteSystemError`` when none was, or when it is not known.
    @discardableResult
    public func get() throws(RemoteSystemError) -> Opened {
        if self.status == .success { return self.opened ?? .uri }
        throw self.error
            ?? RemoteSystemError(
                .refused,
                "It was not opened (\(self.status)).",
                side: .remote,
                outcome: self.status.saysNothingWasOpened ? .notExecuted : .unknown
            )
    }
}
