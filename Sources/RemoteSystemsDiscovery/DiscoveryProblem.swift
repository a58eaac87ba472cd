// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A condition that keeps a source from finding or advertising everything. It lasts for a time, or until a person acts.
public struct DiscoveryProblem: Sendable, Equatable {
    /// The kind of a problem. Later versions may add codes: write a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case daemonUnavailable, stackUnavailable, noInterface, browseFailed, advertiseRefused
            case nameCollision, cacheLimit, tooManyHints, nameNotResolved, announcementFlood
        }
        private let value: Value

        /// No avahi-daemon responds on the system bus, or the bus itself is gone.
        public static let daemonUnavailable = Code(value: .daemonUnavailable)
        /// The embedded mDNS stack could not be started or has failed.
        public static let stackUnavailable = Code(value: .stackUnavailable)
        /// None of the interfaces that may be used is up.
        public static let noInterface = Code(value: .noInterface)
        /// Avahi refused or ended the browse.
        public static let browseFailed = Code(value: .browseFailed)
        /// Avahi refused to publish the advertisement.
        public static let advertiseRefused = Code(value: .advertiseRefused)
        /// Another machine uses an advertised name. The source chooses a new name.
        public static let nameCollision = Code(value: .nameCollision)
        /// The network has so many services that Avahi may miss further ones. Avahi drops services beyond its cache
        /// without an error.
        public static let cacheLimit = Code(value: .cacheLimit)
        /// More instances than ``DiscoveryLimits/hints`` were seen. The instances beyond this number are not reported.
        public static let tooManyHints = Code(value: .tooManyHints)
        /// Far more instances appear and vanish than machines start and stop. A program on the network may be
        /// advertising false ones to hide the others.
        public static let announcementFlood = Code(value: .announcementFlood)
        /// The name of a static peer could not be resolved to an address.
        public static let nameNotResolved = Code(value: .nameNotResolved)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// The kind of the problem.
    public let code: Code

    /// The description of what happened, as a sentence.
    public let message: String

    /// The advice for a person, as a sentence.
    public let advice: String

    /// Whether the source keeps trying, and emits ``DiscoveryEvent/recovered(_:)`` when it succeeds.
    public let recoversByItself: Bool

    /// Creates a problem.
    ///
    /// - Parameters:
    ///   - code: The kind of the problem.
    ///   - message: What happened, as a sentence.
    ///   - advice: What a person can do about it, as a sentence.
    ///   - recoversByItself: Whether the source keeps trying.
    public init(code: Code, message: String, advice: String, recoversByItself: Bool) {
        self.code = code
        self.message = message
        self.advice = advice
        self.recoversByItself = recoversByItself
    }
}

extension DiscoveryProblem: CustomStringConvertible {
    /// The code, the message and the advice.
    public var description: String { "\(code): \(message) \(advice)" }
}
