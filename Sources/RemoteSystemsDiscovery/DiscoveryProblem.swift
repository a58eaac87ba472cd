// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Something that keeps a source from seeing or announcing all there is, for the time being or until somebody acts.
public struct DiscoveryProblem: Sendable, Equatable {
    /// What kind of trouble it is.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case daemonUnavailable, stackUnavailable, noInterface, browseFailed, advertiseRefused
            case nameCollision, cacheLimit, tooManyHints, nameNotResolved
        }
        private let value: Value

        /// No avahi-daemon answers on the system bus, or the bus itself is gone.
        public static let daemonUnavailable = Code(value: .daemonUnavailable)
        /// The embedded mDNS stack could not be started or has failed.
        public static let stackUnavailable = Code(value: .stackUnavailable)
        /// None of the interfaces that may be used is up.
        public static let noInterface = Code(value: .noInterface)
        /// Avahi refused or ended the browse.
        public static let browseFailed = Code(value: .browseFailed)
        /// Avahi refused to publish the announcement.
        public static let advertiseRefused = Code(value: .advertiseRefused)
        /// Somebody else on the network uses an announced name; a new one is taken.
        public static let nameCollision = Code(value: .nameCollision)
        /// The network holds nearly as many services as Avahi's cache; it drops further ones without a word.
        public static let cacheLimit = Code(value: .cacheLimit)
        /// More instances than ``DiscoveryLimits/hints`` were seen; further ones are not told.
        public static let tooManyHints = Code(value: .tooManyHints)
        /// The name of a static peer could not be resolved to an address.
        public static let nameNotResolved = Code(value: .nameNotResolved)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What kind of trouble it is.
    public let code: Code

    /// What happened, in a sentence for a person.
    public let message: String

    /// What the person can do about it, in a sentence.
    public let advice: String

    /// Whether the source keeps trying and tells ``DiscoveryEvent/recovered(_:)`` when it succeeds.
    public let recoversByItself: Bool

    /// A trouble with these values.
    public init(code: Code, message: String, advice: String, recoversByItself: Bool) {
        self.code = code
        self.message = message
        self.advice = advice
        self.recoversByItself = recoversByItself
    }
}

extension DiscoveryProblem: CustomStringConvertible {
    /// The code, what happened and what to do.
    public var description: String { "\(code): \(message) \(advice)" }
}
