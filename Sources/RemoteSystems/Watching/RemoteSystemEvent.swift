// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity

/// An event that a watcher reports. Later versions may add cases: write a default case.
public enum RemoteSystemEvent: Sendable {
    /// A system is available: the watcher has connected to it and authenticated it, and the system has described
    /// itself.
    case added(RemoteSystem)
    /// The description, applications or addresses of a listed system have changed.
    case updated(RemoteSystem)
    /// A listed system is gone: it closed its connections, its processes ended, or it stopped responding.
    case removed(RemoteSystem)
    /// The systems that were present when the watcher started have been reported. Events continue.
    case enumerationCompleted
    /// A condition makes the watcher miss systems. The watcher continues where it can.
    case error(RemoteSystemWatcherError)
}

/// A condition that makes a watcher miss systems.
public struct RemoteSystemWatcherError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of condition. Raw values below 16 are those of Project Rome; values from 16 on are defined here.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The number of the code. Unknown numbers are kept.
        public var rawValue: Int
        /// Creates a code with a number, which may be unknown to this version.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A condition for which there is no other code; the message describes it.
        public static let unknown = Code(rawValue: 0)
        /// The network beyond this link is not available. Reserved for relays.
        public static let internetNotAvailable = Code(rawValue: 1)
        /// A system that advertised itself as one of the account could not be authenticated.
        public static let authenticationError = Code(rawValue: 2)
        /// Discovery does not work, or not completely: no mDNS stack, no network interface, or a limit of Avahi.
        public static let discoveryHampered = Code(rawValue: 16)
    }

    /// The kind of condition, for programs.
    public var code: Code
    /// A sentence with what happened and what to do.
    public var message: String
    /// Whether the watcher retries by itself. If `false`, the condition lasts until a person acts as the message says.
    public var recoversByItself: Bool
    /// The failure code of the connection that failed; `nil` for other errors. It decides about further advice.
    var failureCode: String?

    /// Creates an error of a watcher, for a test.
    ///
    /// - Parameters:
    ///   - code: the kind of condition.
    ///   - message: a sentence with what happened and what to do.
    ///   - recoversByItself: whether the watcher retries by itself.
    public init(_ code: Code, _ message: String, recoversByItself: Bool) {
        self.code = code
        self.message = message
        self.recoversByItself = recoversByItself
    }

    /// The ``message``, so that the error prints as a sentence.
    public var description: String { self.message }
}

extension RemoteSystemEvent: CoalescingEvent {
    package enum Subject: Hashable, Sendable {
        case system(SystemID)
        case enumeration
        case error(RemoteSystemWatcherError.Code)
    }

    package var subject: Subject {
        switch self {
        case .added(let system), .updated(let system), .removed(let system): .system(system.id)
        case .enumerationCompleted: .enumeration
        case .error(let error): .error(error.code)
        }
    }

    package var bearing: CoalescingBearing {
        switch self {
        case .added, .updated: .presence
        case .removed: .absence
        case .enumerationCompleted, .error: .mark
        }
    }

    package func asReported(subjectIsKnown: Bool) -> RemoteSystemEvent {
        switch self {
        case .added(let system), .updated(let system): subjectIsKnown ? .updated(system) : .added(system)
        case .removed, .enumerationCompleted, .error: self
        }
    }
}
