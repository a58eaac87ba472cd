// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity

/// What a watcher reports. More cases may come: have a default case.
public enum RemoteSystemEvent: Sendable {
    /// A system can be talked to: it has been connected to, has proved who it is, and has described itself.
    case added(RemoteSystem)
    /// Something about a listed system has changed.
    case updated(RemoteSystem)
    /// A listed system is gone: it said goodbye, its process ended, or its network fell silent.
    case removed(RemoteSystem)
    /// What was there when the watcher was started has been told. Events go on.
    case enumerationCompleted
    /// Something keeps the watcher from seeing all there is. It goes on where it can.
    case error(RemoteSystemWatcherError)
}

/// What keeps a watcher from seeing all there is.
public struct RemoteSystemWatcherError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What sort of trouble it is, with Project Rome's numbers and ours from 16 on.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The number.
        public var rawValue: Int
        /// A code with this number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Another reason; the message says which.
        public static let unknown = Code(rawValue: 0)
        /// The network beyond this link is not available. Reserved for relays.
        public static let internetNotAvailable = Code(rawValue: 1)
        /// A system that announced itself as one of the account could not prove it.
        public static let authenticationError = Code(rawValue: 2)
        /// Looking for systems is hampered: no mDNS stack, no interface, a limit of Avahi.
        public static let discoveryHampered = Code(rawValue: 16)
    }

    /// What sort of trouble it is.
    public var code: Code
    /// What happened and what to do.
    public var message: String
    /// Whether the watcher keeps trying by itself.
    public var recoversByItself: Bool

    /// Creates an error.
    public init(_ code: Code, _ message: String, recoversByItself: Bool) {
        self.code = code
        self.message = message
        self.recoversByItself = recoversByItself
    }

    /// The message.
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
