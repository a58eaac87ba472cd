// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity

/// What a watcher tells.
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

/// What a watcher tells, as a sequence.
///
/// Buffer policy: a reader that is slow misses what happened in between, never how it ended. A system that was added and
/// changed before the reader asked is told as added, in its latest form; one that came and went is not told at all. So
/// what waits is bounded by the number of systems. A sequence has one reader at a time; ask the watcher for another
/// sequence for another reader.
public struct RemoteSystemEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = RemoteSystemEvent
    /// Trouble is an event; the sequence does not fail.
    public typealias Failure = Never

    let events: CoalescingEvents<RemoteSystemEvent>

    /// The reader.
    public func makeAsyncIterator() -> Iterator { Iterator(iterator: self.events.makeAsyncIterator()) }

    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        var iterator: CoalescingEvents<RemoteSystemEvent>.Iterator

        /// The next event; `nil` when the watcher has been stopped or the task is cancelled.
        public mutating func next() async -> RemoteSystemEvent? {
            await self.iterator.next(isolation: nil)
        }

        /// The next event; `nil` when the watcher has been stopped or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RemoteSystemEvent? {
            await self.iterator.next(isolation: actor)
        }
    }
}
