// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The result of checking one condition that an activity needs to be continued
/// (``UserActivityWatcher/findings(about:)``).
public struct ContinuationFinding: Sendable, Hashable {
    /// A condition. Later versions may add conditions: write a default case.
    public struct Condition: Sendable, Hashable, CustomStringConvertible {
        /// The condition's name, as `remotesystems activities why-not` prints it.
        public let description: String

        /// The user of this system permits hand-off.
        public static let permitted = Condition(description: "permitted")
        /// Another system, of whatever account, is seen on the network.
        public static let network = Condition(description: "network")
        /// Another system of the account is found.
        public static let found = Condition(description: "found")
        /// A system of the account is nearby, or the watcher also lists systems that are not.
        public static let near = Condition(description: "near")
        /// A system offers the activity.
        public static let offered = Condition(description: "offered")
        /// An application, or the browser, continues it.
        public static let handled = Condition(description: "handled")
        /// The applications have the same publisher, or developer mode accepts applications without one.
        public static let publisher = Condition(description: "publisher")
    }

    /// The condition.
    public let condition: Condition
    /// Whether the condition is met.
    public let isMet: Bool
    /// A sentence for people: what was found.
    public let message: String
    /// What to do if the condition is not met; `nil` if there is nothing to do.
    public let advice: String?
    /// Whether the condition is not met because the user has switched hand-off off, for everything or for an
    /// application, or because the settings cannot be read.
    package let isSwitchedOff: Bool

    init(
        _ condition: Condition,
        isMet: Bool,
        _ message: String,
        advice: String? = nil,
        isSwitchedOff: Bool = false
    ) {
        self.condition = condition
        self.isMet = isMet
        self.message = message
        self.advice = advice
        self.isSwitchedOff = isSwitchedOff
    }

    /// Receiving is off for an application of this system, which could continue the activity otherwise.
    static func switchedOff(_ application: String) -> ContinuationFinding {
        let id = application.quotedUnlessPlain
        return ContinuationFinding(
            .handled,
            isMet: false,
            "Hand-off to \(id) is switched off.",
            advice: "Switch it on: 'remotesystems activities settings --application \(id) --receiving on'.",
            isSwitchedOff: true
        )
    }

    /// No application publishes that it continues activities of a type, in a sentence.
    ///
    /// - Parameter applications: those for which receiving is off, and whose types are therefore not known.
    static func noHandler(of type: String, switchedOff applications: some Collection<String>) -> String {
        guard !applications.isEmpty else {
            return "No application of this system continues activities of the type \(type)."
        }
        return "No application of this system for which receiving is on continues activities of the type \(type). "
            + "Receiving is off for \(ContinuationFacts.list(applications))."
    }
}
